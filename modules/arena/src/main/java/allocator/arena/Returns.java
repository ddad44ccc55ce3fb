package allocator.arena;

import allocator.spi.Allocator;
import allocator.spi.InvalidFreeException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import org.jspecify.annotations.Nullable;

/**
 * Gives memory back to the upstream allocator, and remembers what could not be returned.
 *
 * <p>Memory counts as held until it is back. What the upstream allocator fails to take is not used again, as its view
 * of it is unknown, and tried again on the next occasion; if the upstream allocator then does not know it, or hands out
 * the same addresses once more, it was returned after all.
 *
 * <p>Calls that reach the upstream allocator are made without the arena's lock, one at a time.
 */
final class Returns {
    private static final Logger LOG = System.getLogger(Returns.class.getName());

    private final Allocator upstream;
    private final BriefLock lock;
    private final Counters counters;

    /** What could not be returned. Guarded by the lock, as is what follows. */
    private final Blocks unreturned = new Blocks();

    /** Bytes on their way: held still, but in no table. */
    private long onTheirWay;

    Returns(Allocator upstream, BriefLock lock, Counters counters) {
        this.upstream = upstream;
        this.lock = lock;
        this.counters = counters;
    }

    /** Under the lock. */
    Blocks unreturned() {
        return unreturned;
    }

    /** Bytes that are held but in no region and no reserve. Under the lock. */
    long heldBytes() {
        return unreturned.totalBytes() + onTheirWay;
    }

    /** Announces memory that leaves the arena's tables. Under the lock. */
    void leaves(long byteSize) {
        onTheirWay += byteSize;
    }

    /** Forgets memory that has been handed out once more: it was returned after all. Under the lock. */
    void forgetOverlapping(long address, long byteSize) {
        counters.returned(unreturned.removeOverlapping(address, byteSize));
    }

    /** Returns announced memory. Without the lock. */
    @Nullable
    RuntimeException giveBack(long address, long byteSize, boolean isRegion) {
        RuntimeException failure = null;
        try {
            upstream.free(address);
        } catch (RuntimeException e) {
            failure = e;
            LOG.log(
                    Level.WARNING,
                    "{0}: {1} bytes at 0x{2} could not be returned, they stay held and unused: {3}",
                    upstream.info(),
                    byteSize,
                    Long.toHexString(address),
                    e);
        }
        lock.lock();
        try {
            onTheirWay -= byteSize;
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

    /** Tries once more what failed before. Without the lock. */
    void tryAgain() {
        final Blocks again = new Blocks();
        lock.lock();
        try {
            unreturned.forEach(again::put);
        } finally {
            lock.unlock();
        }
        again.forEach((address, byteSize) -> {
            if (isBack(address)) {
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

    private boolean isBack(long address) {
        try {
            upstream.free(address);
        } catch (InvalidFreeException e) {
            LOG.log(Level.DEBUG, "{0}: it was returned before: {1}", upstream.info(), e);
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
