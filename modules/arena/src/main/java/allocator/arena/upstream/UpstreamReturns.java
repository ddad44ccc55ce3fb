package allocator.arena.upstream;

import allocator.provider.support.LiveSizes;
import allocator.spi.Allocator;
import allocator.spi.InvalidFreeException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import org.jspecify.annotations.Nullable;

/**
 * Returns memory to the upstream allocator, and records what could not be returned.
 *
 * <p>Memory counts as held until it is returned. Memory that the upstream allocator fails to take back is not used
 * again, as its state is unknown, and {@link #tryAgain} retries it. If the upstream allocator then does not know the
 * address, or has handed it out again, the memory was returned after all.
 *
 * <p>Calls that reach the upstream allocator are made without the lock, one at a time.
 */
public final class UpstreamReturns {
    private static final Logger LOG = System.getLogger(UpstreamReturns.class.getName());

    private final Allocator upstream;
    private final BriefLock lock;
    private final Counters counters;

    /** Memory that could not be returned. Guarded by the lock, as is the next field. */
    private final LiveSizes unreturned = new LiveSizes();

    /** Bytes announced by {@link #leaves} and not yet returned: held, but in no other table. */
    private long announced;

    /** Creates an instance; {@code lock} guards the state and {@code counters}. */
    public UpstreamReturns(Allocator upstream, BriefLock lock, Counters counters) {
        this.upstream = upstream;
        this.lock = lock;
        this.counters = counters;
    }

    /** Returns the memory that could not be returned. Under the lock. */
    public LiveSizes unreturned() {
        return unreturned;
    }

    /** Returns the bytes that are held but in no region and no reserve. Under the lock. */
    public long heldBytes() {
        return unreturned.totalBytes() + announced;
    }

    /** Announces memory that has left the other tables and is about to be returned. Under the lock. */
    public void leaves(long byteSize) {
        announced += byteSize;
    }

    /** Forgets unreturned memory that has been handed out again: it was returned after all. Under the lock. */
    public void forgetOverlapping(long address, long byteSize) {
        counters.returned(unreturned.removeOverlapping(address, byteSize));
    }

    /** Returns announced memory, and returns the exception if that fails. Without the lock. */
    public @Nullable RuntimeException giveBack(long address, long byteSize, boolean isRegion) {
        RuntimeException failure = null;
        try {
            upstream.free(address);
        } catch (RuntimeException e) {
            failure = e;
            LOG.log(
                    Level.WARNING,
                    "{0}: {1} bytes at 0x{2} could not be returned, it stays held and unused: {3}",
                    upstream.info(),
                    byteSize,
                    Long.toHexString(address),
                    e);
        }
        lock.lock();
        try {
            announced -= byteSize;
            if (failure != null) {
                unreturned.put(address, byteSize);
            } else if (isRegion) {
                counters.shrunk(byteSize);
            } else {
                counters.returned(byteSize);
            }
        } finally {
            lock.unlock();
        }
        return failure;
    }

    /** Tries again to return what could not be returned. Without the lock. */
    public void tryAgain() {
        final LiveSizes again = new LiveSizes();
        lock.lock();
        try {
            unreturned.forEach(again::put);
        } finally {
            lock.unlock();
        }
        again.forEach((address, byteSize) -> {
            if (isReturned(address)) {
                lock.lock();
                try {
                    unreturned.remove(address);
                    counters.returned(byteSize);
                } finally {
                    lock.unlock();
                }
            }
        });
    }

    private boolean isReturned(long address) {
        try {
            upstream.free(address);
        } catch (InvalidFreeException e) {
            LOG.log(Level.DEBUG, "{0}: it had been returned before: {1}", upstream.info(), e);
        } catch (RuntimeException e) {
            LOG.log(
                    Level.WARNING,
                    "{0}: still cannot return 0x{1}: {2}",
                    upstream.info(),
                    Long.toHexString(address),
                    e);
            return false;
        }
        return true;
    }
}
