package allocator.arrow;

import allocator.provider.support.internal.LogLimit;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorStats;
import java.lang.System.Logger.Level;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Returns memory after a burst: at intervals, a daemon thread shrinks a memory of which less than half is in use. The
 * thread starts with a free and ends once nothing is in use, so that it does not keep the class loader of an
 * application that has ended.
 */
final class IdleShrink {
    private static final System.Logger LOG = System.getLogger(IdleShrink.class.getName());

    private enum State {
        /** There is no thread. */
        ENDED,
        /** There is a thread, which has seen all frees. */
        SEEN,
        /** There is a thread, and there was a free since it last shrank. */
        FREED
    }

    private final long seconds;
    private final LogLimit failures = new LogLimit();
    private final AtomicReference<State> state = new AtomicReference<>(State.ENDED);
    private volatile @Nullable Thread thread;

    /** Shrinks at an interval; one of 0 seconds never does. */
    IdleShrink(long seconds) {
        this.seconds = seconds;
    }

    /** Has memory returned later. To be called after a free; never throws. */
    void freed(ArrowMemory memory) {
        if (seconds == 0 || state.get() == State.FREED || state.getAndSet(State.FREED) != State.ENDED) {
            return;
        }
        try {
            thread = Thread.ofPlatform()
                    .daemon()
                    .inheritInheritableThreadLocals(false) // nor the class loader of whatever frees
                    .name("allocator-arrow-shrink")
                    .start(() -> shrinkRepeatedly(memory));
        } catch (Throwable e) {
            state.set(State.ENDED); // no room for a thread; the next free tries again
        }
    }

    private void shrinkRepeatedly(ArrowMemory memory) {
        while (true) {
            try {
                TimeUnit.SECONDS.sleep(seconds);
                state.set(State.SEEN);
                shrinkIfIdle(memory);
                if (memory.stats().bytesInUse() == 0 && state.compareAndSet(State.SEEN, State.ENDED)) {
                    return;
                }
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
        final Thread running = thread;
        if (running != null) {
            running.interrupt();
        }
    }
}
