package allocator.arena.compact;

import allocator.arena.upstream.Counters;
import allocator.arena.upstream.DeviceLock;
import allocator.arena.upstream.HeldLimit;
import allocator.provider.support.BriefLock;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What pages need of the lane that they serve, and of what it shares with others. */
public interface PagedLane {
    /** Returns the lock that guards the lane, its placement and its pages. */
    BriefLock lock();

    /** Returns the lock that is held while the device is called, taken before {@link #lock}. */
    DeviceLock deviceLock();

    /** Returns the lock that is held while a shrink waits for streams, taken before {@link #deviceLock}. */
    Object shrinkLock();

    /** Returns the lane's counters. */
    Counters counters();

    /** Returns what all lanes hold together, and may hold. */
    HeldLimit heldLimit();

    /** Returns the pages of the arena's other lanes. Under the device lock. */
    List<LanePages> others();

    /**
     * Returns a number that rises with each free in any lane, and whenever work is known to be done. Takes the lock of
     * each lane.
     */
    long changes();

    /**
     * Returns the bytes of the idle pages of all lanes at one moment. Under the device lock; takes all lanes' locks.
     */
    long idleBytesOfAll();

    /** Shrinks all lanes, after a wait for their streams; returns whether memory was released. Without any lock. */
    boolean shrinkAll();

    /** Runs work under the lock, after what an operation has left half done is repaired. */
    <T extends @Nullable Object> T locked(Supplier<T> work);

    /** Does the same, for work that makes a chunk live: as no object is created, nothing fails after it. */
    long lockedLong(LongSupplier work);

    /** Counts a chunk that was taken, of a size and for a request. Within {@link #lockedLong}. */
    void allocated(long byteSize, long requested);

    /**
     * Throws if the thread is in a call by the arena to its device or to a stream: such a call may use and free what
     * the arena holds, but not make it take more.
     *
     * @throws IllegalStateException if it is
     */
    void requireOutsideDevice();

    /** Room for a range of addresses in the table of those that belong to lanes. */
    interface Entry {
        /** Records that addresses belong to this lane, before one of them is handed out. Under the device lock. */
        void enter(long base, long byteSize);
    }

    /** Makes room, so that {@link Entry#enter} does not fail. Under the device lock. */
    Entry roomForRange();

    /** Forgets the addresses from one on, if they were recorded. Under the device lock. */
    void leaving(long base);

    /**
     * Returns the exception for a request that there are too few pages for, or no addresses. Takes the lock.
     *
     * @param cause says why
     * @param isOfAddresses whether there are no addresses, whatever pages are free
     */
    OutOfMemoryException failure(
            long byteSize, @Nullable SyncStream stream, OutOfMemoryException cause, boolean isOfAddresses);
}
