package allocator.arena.bump;

import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.DeviceException;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A {@link BumpArena} for several threads. Each region has one atomic offset, which an allocation moves by
 * compare-and-set. The offset alone defines what is in use, so a reset may run concurrently with allocations: each of
 * them is ordered before the reset, and freed by it, or after it.
 *
 * <p>There are no marks: a rollback would also free what other threads allocated. An allocation takes a lock only when
 * the current region has no room for it; a reset takes the lock as well.
 */
@SuppressWarnings("exports") // the base class and its type argument are no API
public final class SharedBumpArena extends ChainedArena<SharedRegion> {
    /** Guards the base class and everything that is not atomic. */
    private final ReentrantLock lock = new ReentrantLock();

    private final LongAdder paddingBytes = new LongAdder();
    private final AtomicLong generation = new AtomicLong();

    /** Written under the lock. */
    private volatile @Nullable SharedRegion current;

    /**
     * Makes an arena, which holds no memory before the first allocation.
     *
     * @param upstream the allocator that regions are taken from; the arena does not close it
     * @param config sizes and limit of the regions
     */
    public SharedBumpArena(Allocator upstream, BumpConfig config) {
        super(upstream, config);
    }

    /**
     * Allocates memory that lives until the next {@linkplain #reset reset}. The bytes are not initialized. May block on
     * the arena's lock, and in the upstream allocator when the arena grows.
     *
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @param byteAlignment alignment in bytes, a power of two up to {@link BumpArena#MAX_BYTE_ALIGNMENT}
     * @return the address of at least {@code byteSize} bytes; {@code 0} if and only if {@code byteSize} is {@code 0}
     * @throws InvalidSizeException if {@code byteSize} is negative or too large to be aligned
     * @throws IllegalArgumentException if {@code byteAlignment} is not a power of two up to
     *     {@link BumpArena#MAX_BYTE_ALIGNMENT}
     * @throws OutOfMemoryException if neither the arena nor its upstream allocator can serve the request; the arena
     *     stays usable
     * @throws AllocatorClosedException if the arena is closed
     */
    public long allocate(long byteSize, long byteAlignment) {
        BumpRequest.requireValid(byteSize, byteAlignment);
        if (byteSize == 0) {
            return 0;
        }
        while (true) {
            final SharedRegion region = current;
            if (region != null) {
                final long address = bump(region, byteSize, byteAlignment);
                if (address != 0) {
                    return address;
                }
            }
            advanceFrom(region, byteSize, byteAlignment);
        }
    }

    /** Allocates from a region; returns {@code 0} if it has no room. */
    private long bump(SharedRegion region, long byteSize, long byteAlignment) {
        while (true) {
            final long offset = region.offset.get();
            final long start = region.align(offset, byteAlignment);
            if (byteSize > region.byteSize - start) {
                return 0;
            }
            if (region.offset.compareAndSet(offset, start + byteSize)) {
                if (start != offset) {
                    paddingBytes.add(start - offset);
                }
                return region.base() + start;
            }
        }
    }

    /** Replaces a full region as the current one, unless another thread has done so. */
    private void advanceFrom(@Nullable SharedRegion full, long byteSize, long byteAlignment) {
        lock.lock();
        try {
            requireOpen();
            if (current != full) {
                return;
            }
            final int first = full == null ? 0 : full.index + 1;
            final int next = regionFor(byteSize, byteAlignment, first);
            for (int skipped = Math.max(first - 1, 0); skipped < next; skipped++) {
                fill(chain.get(skipped));
            }
            current = chain.get(next);
        } finally {
            lock.unlock();
        }
    }

    /** Uses the rest of a region as padding. */
    private void fill(SharedRegion region) {
        final long offset = region.offset.getAndSet(region.byteSize);
        paddingBytes.add(region.byteSize - offset);
    }

    @Override
    SharedRegion newRegion(long byteSize) {
        return new SharedRegion(chain.count(), byteSize);
    }

    @Override
    long bytesInUse() {
        long bytes = 0;
        for (int index = 0; index < chain.count(); index++) {
            bytes += chain.get(index).offset.get();
        }
        return bytes;
    }

    @Override
    long room() {
        final SharedRegion region = current;
        return region == null ? 0 : region.byteSize - region.offset.get();
    }

    /**
     * Frees all blocks. The arena keeps its regions. A concurrent allocation is ordered before the reset, and freed by
     * it, or after it.
     *
     * @throws AllocatorClosedException if the arena is closed
     */
    public void reset() {
        lock.lock();
        try {
            requireOpen();
            countReset();
            generation.incrementAndGet();
            for (int index = 0; index < chain.count(); index++) {
                chain.get(index).offset.set(0);
            }
            paddingBytes.reset();
            current = chain.count() == 0 ? null : chain.get(0);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Returns the generation of blocks allocated now.
     *
     * @return the generation, which increases with every reset
     */
    public long generation() {
        return generation.get();
    }

    /**
     * Requires that no reset followed an allocation.
     *
     * @param address the address of the block
     * @param allocatedIn {@link #generation} as read right after the allocation
     * @throws StaleAddressException if a reset freed the block
     */
    public void requireLive(long address, long allocatedIn) {
        if (allocatedIn != generation.get()) {
            throw stale(address, allocatedIn, generation.get());
        }
    }

    /**
     * Returns the counters. While other threads allocate, the values may be of slightly different moments.
     *
     * @return their current values
     */
    public BumpStats stats() {
        lock.lock();
        try {
            return statsWith(paddingBytes.sum(), 0);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Frees all blocks and returns all regions to the upstream allocator. No other thread may be allocating. A second
     * call does nothing.
     *
     * @throws DeviceException if the upstream allocator fails to take a region back; the arena is closed all the same
     */
    @Override
    public void close() {
        lock.lock();
        try {
            isClosed = true;
            current = null;
            generation.incrementAndGet();
            UpstreamMemory.throwIfFailed(chain.releaseFrom(0));
        } finally {
            lock.unlock();
        }
    }
}
