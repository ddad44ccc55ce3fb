package allocator.arena;

import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.DeviceException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A {@link BumpArena} for several threads. Each region has one atomic offset; an allocation moves it by a
 * compare-and-set. What an offset was in between does not matter, since it alone says what is in use: so a reset may
 * run beside allocations, which are then before it, and dead, or after it.
 *
 * <p>There are no marks: what one thread would roll back, others have allocated. A lock is taken to grow and to reset,
 * never to allocate from a region that has room.
 */
public final class SharedBumpArena implements AutoCloseable {
    private final Allocator upstream;
    private final BumpConfig config;
    private final ReentrantLock lock = new ReentrantLock();
    private final LongAdder paddingBytes = new LongAdder();
    private final AtomicLong generation = new AtomicLong();

    /** Guarded by the lock, but for reading what {@link #current} names. */
    private final List<Region> regions = new ArrayList<>();

    private volatile @Nullable Region current;

    // Guarded by the lock
    private long bytesHeld;
    private long peakBytesInUse;
    private long resets;
    private boolean isClosed;

    /** Where allocations go, and how far they are. */
    private static final class Region {
        private final int index;
        private final long base;
        private final long byteSize;
        private final AtomicLong offset = new AtomicLong();

        Region(int index, long base, long byteSize) {
            this.index = index;
            this.base = base;
            this.byteSize = byteSize;
        }

        boolean hasRoom(long wantedSize, long byteAlignment) {
            return wantedSize <= byteSize - start(offset.get(), byteAlignment);
        }

        /** Where a block begins, as an offset, if it is to be aligned and not before {@code from}. */
        long start(long from, long byteAlignment) {
            return ((base + from + byteAlignment - 1) & -byteAlignment) - base;
        }
    }

    /**
     * Makes an arena that holds nothing yet.
     *
     * @param upstream gives the regions; the arena does not close it
     * @param config how large they are
     */
    public SharedBumpArena(Allocator upstream, BumpConfig config) {
        this.upstream = Objects.requireNonNull(upstream, "upstream");
        this.config = Objects.requireNonNull(config, "config");
    }

    /**
     * The memory that the arena serves.
     *
     * @return the upstream allocator's info
     */
    public MemoryInfo info() {
        return upstream.info();
    }

    /**
     * Allocates memory that lives until the next {@linkplain #reset reset}. The bytes are not initialized.
     *
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @param byteAlignment alignment in bytes, a power of two up to {@link BumpArena#MAX_BYTE_ALIGNMENT}
     * @return the address of at least {@code byteSize} bytes; {@code 0} if and only if {@code byteSize} is {@code 0}
     * @throws InvalidSizeException if {@code byteSize} is negative or too large to be aligned
     * @throws IllegalArgumentException if {@code byteAlignment} is not a power of two up to
     *     {@link BumpArena#MAX_BYTE_ALIGNMENT}
     * @throws OutOfMemoryException if neither the arena nor its upstream has that much
     * @throws AllocatorClosedException if the arena is closed
     */
    public long allocate(long byteSize, long byteAlignment) {
        BumpArena.requireRequest(byteSize, byteAlignment);
        if (byteSize == 0) {
            return 0;
        }
        while (true) {
            final Region region = current;
            if (region != null) {
                final long address = bump(region, byteSize, byteAlignment);
                if (address != 0) {
                    return address;
                }
            }
            goOn(region, byteSize, byteAlignment);
        }
    }

    /** An address in a region; {@code 0} if it has no room. */
    private long bump(Region region, long byteSize, long byteAlignment) {
        while (true) {
            final long offset = region.offset.get();
            final long start = region.start(offset, byteAlignment);
            if (byteSize > region.byteSize - start) {
                return 0;
            }
            if (region.offset.compareAndSet(offset, start + byteSize)) {
                if (start != offset) {
                    paddingBytes.add(start - offset);
                }
                return region.base + start;
            }
        }
    }

    /** Makes another region the current one, unless somebody did so already. */
    private void goOn(@Nullable Region full, long byteSize, long byteAlignment) {
        lock.lock();
        try {
            requireOpen();
            if (current != full) {
                return;
            }
            final int first = full == null ? 0 : full.index + 1;
            int next = first;
            while (next < regions.size() && !regions.get(next).hasRoom(byteSize, byteAlignment)) {
                next++;
            }
            if (next == regions.size()) {
                extend(byteSize, byteAlignment);
            }
            for (int skipped = Math.max(first - 1, 0); skipped < next; skipped++) {
                closeEnd(regions.get(skipped));
            }
            current = regions.get(next);
        } finally {
            lock.unlock();
        }
    }

    /** Takes what is left of a region, so that it counts as padding. */
    private void closeEnd(Region region) {
        final long offset = region.offset.getAndSet(region.byteSize);
        paddingBytes.add(region.byteSize - offset);
    }

    private void extend(long byteSize, long byteAlignment) {
        final boolean isFirst = regions.isEmpty();
        final long least = BumpArena.least(upstream.info(), byteSize, byteAlignment);
        if (config.growthBytes() == 0 && (!isFirst || least > config.initialBytes())) {
            throw outOfMemory(byteSize, "The bump arena does not grow and has no " + byteSize + " bytes left", null);
        }
        final long wanted = Math.max(least, isFirst ? config.initialBytes() : config.growthBytes());
        final long left = config.maxBytes() == 0 ? Long.MAX_VALUE - bytesHeld : config.maxBytes() - bytesHeld;
        if (least > left) {
            throw outOfMemory(byteSize, "The bump arena may not grow by " + byteSize + " bytes", null);
        }
        final long size = Math.min(wanted, left);
        final long base;
        try {
            base = upstream.alloc(size);
        } catch (OutOfMemoryException e) {
            throw outOfMemory(byteSize, "The upstream allocator has no region of " + size + " bytes", e);
        }
        regions.add(new Region(regions.size(), base, size));
        bytesHeld += size;
    }

    /**
     * Frees everything. The regions stay. Allocations that run at the same time are before it, and freed, or after it.
     *
     * @throws AllocatorClosedException if the arena is closed
     */
    public void reset() {
        lock.lock();
        try {
            requireOpen();
            notePeak();
            generation.incrementAndGet();
            regions.forEach(region -> region.offset.set(0));
            paddingBytes.reset();
            current = regions.isEmpty() ? null : regions.getFirst();
            resets++;
        } finally {
            lock.unlock();
        }
    }

    /**
     * What the present allocations belong to.
     *
     * @return the generation, which rises with every reset
     */
    public long generation() {
        return generation.get();
    }

    /**
     * Refuses a block from before a reset.
     *
     * @param address its address
     * @param allocatedIn {@link #generation} right after it was allocated
     * @throws StaleAddressException if a reset freed it
     */
    public void requireLive(long address, long allocatedIn) {
        if (allocatedIn != generation.get()) {
            throw new StaleAddressException("0x" + Long.toHexString(address) + " of generation " + allocatedIn
                    + " is not live; the generation is " + generation.get());
        }
    }

    private long bytesInUse() {
        return regions.stream().mapToLong(region -> region.offset.get()).sum();
    }

    private void notePeak() {
        peakBytesInUse = Math.max(peakBytesInUse, bytesInUse());
    }

    /**
     * The counters. While others allocate, they are of slightly different moments.
     *
     * @return their values
     */
    public BumpStats stats() {
        lock.lock();
        try {
            notePeak();
            final long inUse = bytesInUse();
            final long padding = paddingBytes.sum();
            return new BumpStats(inUse, inUse - padding, padding, peakBytesInUse, bytesHeld, regions.size(), 0, resets);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Frees everything and gives all regions back. No other thread may still allocate. A second call does nothing.
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
            DeviceException failure = null;
            while (!regions.isEmpty()) {
                try {
                    upstream.free(regions.removeLast().base);
                } catch (DeviceException e) {
                    failure = e;
                }
            }
            bytesHeld = 0;
            if (failure != null) {
                throw failure;
            }
        } finally {
            lock.unlock();
        }
    }

    private void requireOpen() {
        if (isClosed) {
            throw new AllocatorClosedException("the bump arena of " + info() + " is closed");
        }
    }

    private OutOfMemoryException outOfMemory(long byteSize, String reason, @Nullable OutOfMemoryException cause) {
        final Region region = current;
        return new OutOfMemoryException(
                reason,
                new Shortage(
                        info(),
                        byteSize,
                        byteSize,
                        config.maxBytes() == 0 ? -1 : config.maxBytes(),
                        bytesInUse(),
                        bytesHeld,
                        region == null ? 0 : region.byteSize - region.offset.get(),
                        cause == null
                                ? OutOfMemoryException.UNKNOWN
                                : cause.shortage().deviceFree()),
                "",
                cause);
    }
}
