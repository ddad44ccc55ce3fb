package allocator.arena.upstream;

import allocator.provider.support.BriefLock;
import allocator.provider.support.Failures;
import allocator.provider.support.LiveSizes;
import allocator.provider.support.LogLimit;
import allocator.provider.support.RetryableReturns;
import allocator.provider.support.event.AllocatorEvents;
import allocator.provider.support.event.DeviceCall;
import allocator.provider.support.event.DevicePart;
import allocator.spi.Allocator;
import allocator.spi.DeviceException;
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
 * counts as held and is not used again. What a failed free has left decides what follows:
 *
 * <ul>
 *   <li>After a {@link DeviceException} the block is <em>dead</em>: the upstream allocator may return its memory by
 *       itself and hand it out to another user, so it is never freed again. If the upstream allocator has
 *       {@link RetryableReturns}, the memory stays in this table, and {@link #tryAgain} retries it by them. Otherwise
 *       it is no longer the arena's, and counts as returned.
 *   <li>After anything else the block is live, and the arena's: {@link #tryAgain} frees it again. If the upstream
 *       allocator then does not know the address, or has handed it out again, the memory was returned after all.
 * </ul>
 *
 * <p>Calls that reach the upstream allocator are made without the lane's lock, one at a time, by a thread that has
 * {@linkplain allocator.provider.support.StackReserve touched its stack}.
 */
public final class UpstreamReturns {
    private static final Logger LOG = System.getLogger(UpstreamReturns.class.getName());

    private final Allocator upstream;
    private final @Nullable RetryableReturns retryable;
    private final MemoryInfo info;
    private final BriefLock lock;
    private final Counters counters;
    private final LongConsumer beforeReturn;
    private final LogLimit logLimit = new LogLimit();

    /** Guarded by the lock. */
    private final LiveSizes unreturned = new LiveSizes();

    /** The part of it whose blocks are dead. It has room for all of it. Guarded by the lock. */
    private final LiveSizes dead = new LiveSizes();

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
        retryable = upstream instanceof RetryableReturns able ? able : null;
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
        dead.ensureRoom(unreturned.count() + count - dead.count());
    }

    /** Returns the Java heap that the tables take, in bytes. Under the lock. */
    public long heapBytes() {
        return unreturned.heapBytes() + dead.heapBytes();
    }

    /** Enters memory that leaves the other tables and is about to be returned. Under the lock. */
    public void leaves(long address, long byteSize) {
        unreturned.put(address, byteSize);
    }

    /** Forgets unreturned memory that has been handed out again: it was returned after all. Under the lock. */
    public void forgetOverlapping(long address, long byteSize) {
        counters.returned(unreturned.removeOverlapping(address, byteSize));
        dead.removeOverlapping(address, byteSize);
    }

    /** Returns memory that {@linkplain #leaves left} the other tables, and returns whatever was thrown. */
    public @Nullable Throwable giveBack(long address, DevicePart part) {
        try {
            release(address, part);
        } catch (Throwable e) {
            logFailure(address, e);
            return e;
        }
        returned(address, part == DevicePart.REGION);
        return null;
    }

    /** Frees a block, or returns the memory of a dead one. If it throws, all is recorded that follows from it. */
    private void release(long address, DevicePart part) {
        beforeReturn.accept(address);
        final RetryableReturns again = sizeIn(dead, address) != LiveSizes.NONE ? retryable : null;
        final DeviceCall call = AllocatorEvents.shrinking(info, part, Math.max(0, sizeIn(unreturned, address)));
        boolean isReturned = false;
        try {
            if (again != null) {
                again.returnAgain(address); // if it returns false, the memory had been returned
            } else {
                free(address);
            }
            isReturned = true;
        } finally {
            call.end(isReturned, address);
        }
    }

    private void free(long address) {
        try {
            upstream.free(address);
        } catch (DeviceException e) {
            died(address);
            throw e;
        }
    }

    private long sizeIn(LiveSizes table, long address) {
        lock.lock();
        try {
            return table.sizeOf(address);
        } finally {
            lock.unlock();
        }
    }

    /** Records that a block was freed, although its memory was not returned. */
    private void died(long address) {
        if (retryable == null) {
            returned(address, false);
            return;
        }
        lock.lock();
        try {
            final long byteSize = unreturned.sizeOf(address);
            if (byteSize != LiveSizes.NONE) {
                dead.put(address, byteSize);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Returns memory that was taken and is of no use, after {@link #ensureRoom}; nothing for address 0. */
    public void returnUnused(long address, long byteSize) {
        if (address == 0) {
            return;
        }
        lock.lock();
        try {
            counters.hold(byteSize);
            unreturned.put(address, byteSize);
        } finally {
            lock.unlock();
        }
        giveBack(address, DevicePart.UNUSED);
    }

    /** Counts memory as returned; returns whether it was unreturned. */
    private boolean returned(long address, boolean isRegion) {
        lock.lock();
        try {
            final long byteSize = unreturned.remove(address);
            dead.remove(address);
            if (byteSize == LiveSizes.NONE) {
                return false;
            }
            if (isRegion) {
                counters.shrunk(byteSize);
            } else {
                counters.returned(byteSize);
            }
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** Tries again to return what could not be returned, regions and reserves, and returns the bytes that have been. */
    public long tryAgain() {
        final long[] returned = {0};
        final LiveSizes again = new LiveSizes();
        lock.lock();
        try {
            again.ensureRoom(unreturned.count());
            again.putAll(unreturned);
        } finally {
            lock.unlock();
        }
        again.forEach((address, byteSize) -> {
            if (isReturned(address) && returned(address, false)) {
                returned[0] += byteSize;
            }
        });
        return returned[0];
    }

    private boolean isReturned(long address) {
        try {
            release(address, DevicePart.UNRETURNED);
        } catch (InvalidFreeException e) {
            log(Level.DEBUG, "{0}: 0x{1} had been returned before: {2}{3}", address, e, 0);
        } catch (Throwable e) {
            logFailure(address, e);
            return false;
        }
        return true;
    }

    private void logFailure(long address, Throwable failure) {
        final long number = logLimit.next();
        if (number != 0) {
            log(
                    Level.WARNING,
                    retryable == null && failure instanceof DeviceException
                            ? "{0}: 0x{1} was freed, but the device did not take it back: {2}{3}"
                            : "{0}: 0x{1} could not be returned, it stays held and unused: {2}{3}",
                    address,
                    failure,
                    number);
        }
    }

    /** Logs, if that is possible: the memory that the message is about comes first. */
    private void log(Level level, String format, long address, Throwable failure, long number) {
        try {
            LOG.log(
                    level,
                    format,
                    info,
                    Long.toHexString(address),
                    Failures.describe(failure),
                    LogLimit.suffix(number));
        } catch (Throwable e) {
            // A logger may throw anything, and so may the end of the Java heap.
        }
    }
}
