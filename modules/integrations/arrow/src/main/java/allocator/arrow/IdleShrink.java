package allocator.arrow;

import allocator.provider.support.LogLimit;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorStats;
import java.lang.System.Logger.Level;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Returns memory after a burst: at intervals, a daemon thread shrinks a memory of which less than half is in use. */
final class IdleShrink {
    private static final System.Logger LOG = System.getLogger(IdleShrink.class.getName());

    /** Never shrinks. */
    static final IdleShrink NONE = new IdleShrink(null);

    private final @Nullable Thread thread;

    private IdleShrink(@Nullable Thread thread) {
        this.thread = thread;
    }

    /** Starts it; an interval of 0 seconds never shrinks. */
    static IdleShrink start(ArrowMemory memory, long seconds) {
        if (seconds == 0) {
            return NONE;
        }
        return new IdleShrink(Thread.ofPlatform()
                .daemon()
                .name("allocator-arrow-shrink")
                .start(() -> shrinkRepeatedly(memory, seconds)));
    }

    private static void shrinkRepeatedly(ArrowMemory memory, long seconds) {
        final LogLimit failures = new LogLimit();
        while (true) {
            try {
                TimeUnit.SECONDS.sleep(seconds);
                shrinkIfIdle(memory);
            } catch (InterruptedException | AllocatorClosedException e) {
                return;
            } catch (RuntimeException | Error e) {
                final long number = failures.next();
                if (number > 0) {
                    LOG.log(Level.WARNING, "idle memory could not be returned" + LogLimit.suffix(number), e);
                }
            }
        }
    }

    /** Shrinks if at most half of what is held is in use. */
    static void shrinkIfIdle(ArrowMemory memory) {
        final AllocatorStats stats = memory.stats();
        if (stats.bytesInUse() <= stats.bytesHeld() / 2 && stats.bytesHeld() > 0) {
            memory.shrink();
        }
    }

    void stop() {
        if (thread != null) {
            thread.interrupt();
        }
    }
}
