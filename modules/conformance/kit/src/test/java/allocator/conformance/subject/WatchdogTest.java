package allocator.conformance.subject;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class WatchdogTest {
    @Test
    void aTimeLimitMayBeAsLongAsItCan() throws Throwable {
        assertThat(Watchdog.call("a call", Duration.ofSeconds(Long.MAX_VALUE), () -> 7))
                .isEqualTo(7);
    }

    /** By which the crash file of a JVM names the test. */
    @Test
    void aCallRunsOnAThreadOfItsName() throws Throwable {
        final String name = Watchdog.call(
                "a call", Duration.ofSeconds(60), () -> Thread.currentThread().getName());
        assertThat(name).isEqualTo("a call");
    }

    @Test
    void aCallThatExceedsItsTimeLimitIsAHang() {
        assertThatThrownBy(() -> Watchdog.call("a call", Duration.ofMillis(50), () -> {
                    Thread.sleep(60_000);
                    return 7;
                }))
                .isInstanceOf(HangError.class)
                .hasMessageStartingWith("did not return within 0.05 s");
    }

    @Test
    void aHangWithinACallDoesNotInterruptTheCaller() throws Throwable {
        final boolean interrupted = Watchdog.call("a caller", Duration.ofSeconds(60), () -> {
            try {
                return Watchdog.call("a call", Duration.ofMillis(50), () -> {
                    Thread.sleep(60_000);
                    return true;
                });
            } catch (HangError _) {
                return Thread.interrupted();
            } catch (Throwable e) {
                throw new IllegalStateException(e);
            }
        });
        assertThat(interrupted).isFalse();
    }
}
