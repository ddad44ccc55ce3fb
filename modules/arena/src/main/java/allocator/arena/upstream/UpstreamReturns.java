package allocator.arena.upstream;

import allocator.provider.support.LiveSizes;
import allocator.spi.Allocator;
import allocator.spi.InvalidFreeException;
import allocator.spi.MemoryInfo;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Returns memory to the upstream allocator, and records what could not be returned.
 *
 * <p>Memory that leaves the other tables is <em>unreturned</em> until the upstream allocator has taken it back. It
 * counts as held and is not used again, as its state is unknown. Whatever the upstream allocator throws, the memory
 * stays in this table, and {@link #tryAgain} retries it. If the upstream allocator then does not know the address, or
 * has handed it out again, the memory was returned after all.
 *
 * <p>Calls that reach the upstream allocator are made without the lane's lock, one at a time, by a thread that has
 * {@linkplain allocator.provider.support.StackReserve touched its stack}.
 */
public final class UpstreamReturns {
    private static final Logger LOG = System.getLogger(UpstreamReturns.class.getName());

    private final Allocator upstream;
    private final MemoryInfo info;
    private final BriefLock lock;
    private final Counters counters;
    private final LongConsumer beforeReturn;

    /** Guarded by the lock. */
    private final LiveSizes unreturned = new LiveSizes();

    /**
     * Creates an instance.
     *
     * @param upstream the upstream allocator
     * @param lock guards this table and {@code counters}
     * @param counters what is held
     * @param beforeReturn called with each address before it is returned; may be called again for the same one
     */
    public UpstreamReturns(Allocator upstream, BriefLock lock, Counters counters, LongConsumer beforeReturn) {
        this.upstream = upstream;
        info = upstream.info();
        this.lock = lock;
        this.counters = counters;
        this.beforeReturn = beforeReturn;
    }

    /** Returns the memory that was not returned. Under the lock. */
    public LiveSizes unreturned() {
        return unreturned;
    }

    /** Returns the bytes that are held but in no region and no reserve. Under the lock. */
    public long heldBytes() {
        return unreturned.totalBytes();
    }

    /** Makes room, so that the next calls of {@link #leaves} cannot fail. Under the lock. */
    public void ensureRoom(int count) {
        unreturned.ensureRoom(count);
    }

    /** Enters memory that leaves the other tables and is about to be returned. Under the lock. */
    public void leaves(long address, long byteSize) {
        unreturned.put(address, byteSize);
    }

    /** Forgets unreturned memory that has been handed out again: it was returned after all. Under the lock. */
    public void forgetOverlapping(long address, long byteSize) {
        counters.returned(unreturned.removeOverlapping(address, byteSize));
    }

    /** Returns memory that {@linkplain #leaves left} the other tables, and returns whatever was thrown. */
    public @Nullable Throwable giveBack(long address, boolean isRegion) {
        try {
            beforeReturn.accept(address);
            upstream.free(address);
        } catch (Throwable e) {
            log(Level.WARNING, "{0}: 0x{1} could not be returned, it stays held and unused: {2}", address, e);
            return e;
        }
        returned(address, isRegion);
        return null;
    }

    /** Returns memory that was taken and is of no use, after {@link #ensureRoom}. */
    public void returnUnused(long address, long byteSize) {
        lock.lock();
        try {
            counters.hold(byteSize);
            unreturned.put(address, byteSize);
        } finally {
            lock.unlock();
        }
        giveBack(address, false);
    }

    private void returned(long address, boolean isRegion) {
        lock.lock();
        try {
            final long byteSize = unreturned.remove(address);
            if (byteSize != LiveSizes.NONE) {
                if (isRegion) {
                    counters.shrunk(byteSize);
                } else {
                    counters.returned(byteSize);
                }
            }
        } finally {
            lock.unlock();
        }
    }

    /** Tries again to return what could not be returned. */
    public void tryAgain() {
        final LiveSizes again = new LiveSizes();
        lock.lock();
        try {
            again.ensureRoom(unreturned.count());
            again.putAll(unreturned);
        } finally {
            lock.unlock();
        }
        again.forEach((address, byteSize) -> {
            if (isReturned(address)) {
                returned(address, false);
            }
        });
    }

    private boolean isReturned(long address) {
        try {
            beforeReturn.accept(address);
            upstream.free(address);
        } catch (InvalidFreeException e) {
            log(Level.DEBUG, "{0}: 0x{1} had been returned before: {2}", address, e);
        } catch (Throwable e) {
            log(Level.WARNING, "{0}: 0x{1} still cannot be returned: {2}", address, e);
            return false;
        }
        return true;
    }

    /** Logs, if that is possible: the memory that the message is about comes first. */
    private void log(Level level, String format, long address, Throwable failure) {
        try {
            LOG.log(level, format, info, Long.toHexString(address), failure);
        } catch (Throwable e) {
            // A logger may throw anything, and so may the end of the Java heap.
        }
    }
}
