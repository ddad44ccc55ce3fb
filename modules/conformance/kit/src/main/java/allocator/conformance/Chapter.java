package allocator.conformance;

import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.ExtendWith;

/** The tests of some rules. Each is given a {@link Subject} that is its own. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@ExtendWith(SubjectExtension.class)
abstract class Chapter {
    private final Kit kit;

    Chapter(Kit kit) {
        this.kit = kit;
    }

    final Kit kit() {
        return kit;
    }
}
