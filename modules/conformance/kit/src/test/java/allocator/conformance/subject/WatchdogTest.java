package allocator.conformance.subject;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
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

    /** As where other processes have the processors. */
    @Test
    void aCallThatWorksAndHasLittleOfTheProcessorsTakesLonger() throws Throwable {
        final Duration limit = Duration.ofSeconds(2);
        final boolean isDone = Watchdog.call("a call", limit, () -> {
            for (final long begin = System.nanoTime(); System.nanoTime() - begin < 2 * limit.toNanos(); ) {
                work(Duration.ofMillis(10));
                Thread.sleep(50);
            }
            return true;
        });
        assertThat(isDone).isTrue();
    }

    @Test
    void aCallThatWorksWithoutEndIsAHang() {
        assertThatThrownBy(() -> Watchdog.call("a call", Duration.ofMillis(500), () -> {
                    while (!Thread.currentThread().isInterrupted()) {
                        work(Duration.ofMillis(1));
                    }
                    return true;
                }))
                .isInstanceOf(HangError.class);
    }

    /** Has a processor for a time. */
    private static void work(Duration time) {
        final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        final long end = threads.getCurrentThreadCpuTime() + time.toNanos();
        while (threads.getCurrentThreadCpuTime() < end) {
            Thread.onSpinWait();
        }
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
