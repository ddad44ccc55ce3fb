package exam.tlsf;

import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidFreeException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import java.lang.foreign.MemorySegment;

/** What both allocators have: live blocks, counters, segments, and spans taken for one block alone. */
abstract class HostAllocator implements HostAccessibleAllocator {
    private final MemoryInfo info;
    private final AllocatorOptions effective;
    final Settings settings;
    final BlockTable table = new BlockTable();

    boolean isClosed;
    long inUse;
    long requestedInUse;
    long held;
    private long peakInUse;
    private long peakHeld;
    private long largestSoFar;
    private long allocs;
    private long reserves;
    private long failed;
    /** The address freed last, for diagnosis only. */
    private long lastFreed;

    HostAllocator(MemoryInfo info, Settings settings, AllocatorOptions effective) {
        this.info = info;
        this.settings = settings;
        this.effective = effective;
    }

    @Override
    public final MemoryInfo info() {
        return info;
    }

    @Override
    public final AllocatorOptions effectiveOptions() {
        return effective;
    }

    final void requireOpen() {
        if (isClosed) {
            throw new AllocatorClosedException("the allocator of " + info + " is closed");
        }
    }

    static void requireSize(long byteSize) {
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
    }

    @Override
    public final synchronized long reserve(long byteSize) {
        requireOpen();
        requireSize(byteSize);
        if (byteSize == 0) {
            return 0;
        }
        final long address = takeOwn(byteSize);
        reserves++;
        return address;
    }

    /** Takes a block of exactly its size from the device. */
    final long takeOwn(long byteSize) {
        table.ensureRoom();
        final Block block = new Block();
        block.own = new HostPool.Span();
        if (byteSize > settings.room(held)) {
            throw exhausted("the limit is reached", byteSize, byteSize);
        }
        if (!HostPool.take(block.own, byteSize, info.byteAlignment())) {
            throw exhausted("the host has no more memory", byteSize, byteSize);
        }
        block.address = block.own.address();
        block.byteSize = byteSize;
        addHeld(byteSize);
        enter(block, byteSize);
        return block.address;
    }

    /** Counts a block as live. Takes no heap. */
    final void enter(Block block, long requested) {
        block.requested = requested;
        table.put(block);
        inUse += block.byteSize;
        requestedInUse += requested;
        peakInUse = Math.max(peakInUse, inUse);
        largestSoFar = Math.max(largestSoFar, block.byteSize);
        allocs++;
    }

    /** Counts a block as freed. Takes no heap. */
    final void leave(Block block) {
        table.remove(block);
        inUse -= block.byteSize;
        requestedInUse -= block.requested;
        block.requested = 0;
        lastFreed = block.address;
    }

    final void addHeld(long byteSize) {
        held += byteSize;
        peakHeld = Math.max(peakHeld, held);
    }

    @Override
    public final synchronized void free(long address) {
        requireOpen();
        if (address == 0) {
            return;
        }
        final Block block = table.get(address);
        if (block == null) {
            throw invalid(address);
        }
        if (block.own == null) {
            freeInRegion(block);
        } else {
            HostPool.give(block.own);
            leave(block);
            held -= block.byteSize;
        }
    }

    /** Frees a block of a region. */
    abstract void freeInRegion(Block block);

    private InvalidFreeException invalid(long address) {
        final Block around = table.around(address);
        if (around != null) {
            return new InteriorAddressException(address, address - around.address + " bytes into a block of " + info);
        }
        return address == lastFreed
                ? new DoubleFreeException(address, "the block of " + info + " was freed already")
                : new ForeignAddressException(address, "no live block of " + info);
    }

    /** Counts a failure, and returns what to throw. */
    final OutOfMemoryException exhausted(String reason, long byteSize, long rounded) {
        final OutOfMemoryException e = new OutOfMemoryException(
                reason,
                new OutOfMemoryException.Shortage(
                        info,
                        byteSize,
                        rounded,
                        settings.statedLimit(),
                        inUse,
                        held,
                        largestFree(),
                        HostPool.available()));
        failed++;
        return e;
    }

    abstract long largestFree();

    @Override
    public final synchronized MemorySegment segment(long address, long byteSize) {
        requireOpen();
        requireSize(byteSize);
        if (address == 0) {
            if (byteSize != 0) {
                throw new InvalidSizeException(byteSize, "exceeds the empty allocation");
            }
            return MemorySegment.NULL;
        }
        final Block block = table.get(address);
        if (block == null) {
            throw new ForeignAddressException(address, "no live block of " + info + " to show");
        }
        if (byteSize > block.requested) {
            throw new InvalidSizeException(byteSize, "exceeds the block of " + block.requested + " bytes");
        }
        final HostPool.Span span = block.own == null ? block.region.span : block.own;
        return span.segment.asSlice(address - span.address(), byteSize);
    }

    @Override
    public final synchronized AllocatorStats stats() {
        requireOpen();
        final AllocatorStats.Builder builder = new AllocatorStats.Builder()
                .limit(settings.statedLimit())
                .inUse(inUse, requestedInUse, peakInUse)
                .held(held, peakHeld)
                .calls(allocs, reserves, failed, largestSoFar);
        addOwnStats(builder);
        return builder.build();
    }

    abstract void addOwnStats(AllocatorStats.Builder builder);

    /** Closes the allocator and gives its memory back. A second call goes on where a failed one ended. */
    final synchronized void close() {
        isClosed = true;
        for (Block block : table.all()) {
            if (block != null && block.own != null) {
                HostPool.give(block.own);
                block.own = null;
            }
        }
        giveRegions();
    }

    abstract void giveRegions();
}
