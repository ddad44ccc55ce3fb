package allocator.arena.bump;

import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;

/**
 * A {@link BumpArena} for several threads. An allocation moves a cursor by compare-and-set. A reset replaces the
 * cursor, so it may run concurrently with allocations: each of them is ordered before the reset, and freed by it, or
 * after it.
 *
 * <p>There are no marks: a rollback would also free what other threads allocated. An allocation takes a lock only when
 * the current region has no room for it; a reset takes the lock as well.
 *
 * <p>To find out later whether a block is live, read {@link #generation} <em>before</em> its allocation. If a reset
 * runs between the two, the block counts as stale, although it may be live; it never counts as live when it is not.
 */
@SuppressWarnings("exports") // the base class is no API
public final class SharedBumpArena extends ChainedArena {
    /** Guards the base class. */
    private final Object lock = new Object();

    /** Written under the lock. */
    private volatile SharedCursor current = SharedCursor.nowhere(0);

    /**
     * Makes an arena, which holds no memory before the first allocation or {@link #takeFirstRegion}.
     *
     * @param upstream the allocator that regions are taken from; the arena does not close it
     * @param config sizes and limit of the regions
     */
    public SharedBumpArena(Allocator upstream, BumpConfig config) {
        super(upstream, config);
    }

    @Override
    public long allocate(long byteSize, long byteAlignment) {
        requireValid(byteSize, byteAlignment);
        if (byteSize == 0) {
            return 0;
        }
        while (true) {
            final SharedCursor cursor = current;
            final long address = bump(cursor, byteSize, byteAlignment);
            if (address != 0) {
                return address;
            }
            advanceFrom(cursor, byteSize, byteAlignment);
        }
    }

    /** Allocates by moving a cursor; returns {@code 0} if its region has no room. */
    private static long bump(SharedCursor cursor, long byteSize, long byteAlignment) {
        final long mask = byteAlignment - 1;
        while (true) {
            final long next = cursor.get();
            final long address = (next + mask) & ~mask;
            if (byteSize > cursor.end - address) {
                return 0;
            }
            if (cursor.compareAndSet(next, address + byteSize)) {
                if (address != next) {
                    cursor.addPadding(address - next);
                }
                return address;
            }
        }
    }

    /** Goes on to a region that fits a request, unless another thread has replaced the cursor. */
    private void advanceFrom(SharedCursor full, long byteSize, long byteAlignment) {
        synchronized (lock) {
            requireOpen();
            if (current != full) {
                return;
            }
            final int next = regionFor(byteSize, byteAlignment, full.index + 1);
            final SharedCursor cursor = full.inRegion(next, chain);
            full.fill();
            current = cursor;
        }
    }

    @Override
    long bytesInUse() {
        return current.bytesInUse();
    }

    @Override
    long room() {
        final SharedCursor cursor = current;
        return cursor.end - cursor.get();
    }

    @Override
    public void takeFirstRegion() {
        synchronized (lock) {
            extendIfEmpty();
        }
    }

    /**
     * Frees all blocks. The arena keeps its regions. A concurrent allocation is ordered before the reset, and freed by
     * it, or after it.
     *
     * @throws AllocatorClosedException if the arena is closed
     */
    @Override
    public void reset() {
        synchronized (lock) {
            requireOpen();
            requireNotInUpstream();
            final SharedCursor start = SharedCursor.atStart(chain, current.generation + 1);
            final long peak = currentPeak();
            peakBytesInUse = peak;
            resets++;
            current = start;
        }
    }

    @Override
    public long generation() {
        return current.generation;
    }

    /**
     * Requires that no reset followed an allocation.
     *
     * @param address the address of the block
     * @param allocatedIn {@link #generation} as read right before the allocation
     * @throws StaleAddressException if a reset freed the block, or ran between the reading and the allocation
     */
    public void requireLive(long address, long allocatedIn) {
        final long generation = generation();
        if (allocatedIn != generation) {
            throw stale(address, allocatedIn, generation);
        }
    }

    @Override
    public BumpStats stats() {
        synchronized (lock) {
            return statsWith(current.paddingBytes(), 0);
        }
    }

    @Override
    public void close() {
        synchronized (lock) {
            requireNotInUpstream();
            final SharedCursor nowhere = SharedCursor.nowhere(current.generation + 1);
            isClosed = true;
            current = nowhere;
            chain.releaseFrom(0);
            chain.source.requireNothingHeld();
        }
    }
}
