package allocator.runtime.inspection;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class WriteAttemptsTest {
    private long now = Long.MAX_VALUE - 5;

    private final WriteAttempts attempts = new WriteAttempts(() -> now);

    private void pass(long seconds) {
        now += TimeUnit.SECONDS.toNanos(seconds);
    }

    @Test
    void pausesDoubleAndEndWithTheLastAttempt() {
        long pause = 1;
        for (int failure = 1; failure <= WriteAttempts.MOST; failure++) {
            assertThat(attempts.mayTry()).isTrue();
            final String further = attempts.failed();
            if (failure == 1) {
                assertThat(further).contains("after 1 s");
            } else if (failure == WriteAttempts.MOST) {
                assertThat(further).contains("no further one");
            } else {
                assertThat(further).isEmpty();
            }
            pass(pause - 1);
            assertThat(attempts.mayTry()).isFalse();
            pass(1);
            pause *= 2;
        }
        pass(1 << 20);
        assertThat(attempts.mayTry()).isFalse();
    }

    @Test
    void anAttemptThatSucceedsEndsThePause() {
        assertThat(attempts.failed()).isNotEmpty();
        pass(1);
        attempts.succeeded();
        assertThat(attempts.mayTry()).isTrue();
        assertThat(attempts.failed()).contains("after 1 s");
        pass(1);
        assertThat(attempts.mayTry()).isTrue();
    }
}
