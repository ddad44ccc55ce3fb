package allocator.conformance.rules;

import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.ExtendWith;

/** The tests of some rules. Each test receives a {@link allocator.conformance.subject.Subject} of its own. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@ExtendWith(SubjectExtension.class)
public abstract class Chapter {}
