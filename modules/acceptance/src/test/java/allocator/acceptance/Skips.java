package allocator.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.util.List;

/** What this machine does not allow is skipped with the reason; where {@link #REQUIRED} is true a skip fails. */
final class Skips {
    /** The property that makes a skip a failure. */
    static final String REQUIRED = "allocator.acceptance.required";

    private Skips() {}

    /** Fails or skips the test, with the reason. */
    static void skip(String reason) {
        assertThat(Boolean.getBoolean(REQUIRED))
                .as("%s, and -D%s=true makes a skip fail", reason, REQUIRED)
                .isFalse();
        assumeTrue(false, reason); // what this machine does not allow: a skip that is counted, with its reason
    }

    /** Returns whether a command can be run and succeeds. */
    static boolean isPossible(List<String> command) throws InterruptedException {
        try {
            return Started.run(command).code() == 0;
        } catch (IOException e) {
            return false;
        }
    }
}
