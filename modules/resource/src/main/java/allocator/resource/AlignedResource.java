package allocator.resource;

import allocator.resource.base.LiveTable;
import allocator.spi.AllocatorStats;
import allocator.spi.ForeignAddressException;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.SyncStream;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Aligns every block to at least a given alignment, and to any larger alignment requested, even if the upstream does
 * not support it: it then requests padding and returns an aligned address inside. Requests that the upstream aligns
 * well enough pass through.
 *
 * <p>The alignment of a block that was aligned here is checked when it is deallocated, since the padding depends on it.
 */
public final class AlignedResource extends ResourceDecorator {
    /** The largest alignment added here, in bytes: an offset below it and its exponent fit into one number. */
    private static final long MAX_BYTE_ALIGNMENT = 1L << 56;

    private final long byteAlignment;

    /** The aligned addresses returned, each with the bytes that lie before it and the exponent of its alignment. */
    private final LiveTable<Void> aligned = new LiveTable<>(false);

    /** Bytes by which requests were enlarged, from before the upstream allocates until it has the memory back. */
    private final AtomicLong padding = new AtomicLong();

    /**
     * Decorates a resource.
     *
     * @param upstream the resource
     * @param byteAlignment the least alignment in bytes, a power of two
     * @throws InvalidAlignmentException if {@code byteAlignment} is not a power of two, or above 2<sup>56</sup>
     */
    public AlignedResource(MemoryResource upstream, long byteAlignment) {
        super(upstream);
        requireAlignment(byteAlignment);
        this.byteAlignment = byteAlignment;
    }

    @Override
    protected long doAllocate(long byteSize, long requestedAlignment, @Nullable SyncStream stream, boolean isReserve) {
        final long alignment = Math.max(byteAlignment, requestedAlignment);
        final long upstreamAlignment = memory().byteAlignment();
        if (alignment <= upstreamAlignment) {
            return allocateUpstream(byteSize, upstreamAlignment, stream, isReserve);
        }
        requireAlignment(alignment);
        final long padded = padded(byteSize, alignment, upstreamAlignment);
        aligned.expect();
        padding.getAndAdd(padded - byteSize);
        long address = 0;
        try {
            address = allocateUpstream(padded, upstreamAlignment, stream, isReserve);
        } catch (OutOfMemoryException e) {
            throw withoutPadding(e, byteSize);
        } finally {
            if (address == 0) {
                aligned.expectNoMore();
                padding.getAndAdd(byteSize - padded);
            }
        }
        final long start = (address + alignment - 1) & -alignment;
        aligned.add(start, (start - address) << 6 | Long.numberOfTrailingZeros(alignment), null);
        return start;
    }

    private void requireAlignment(long alignment) {
        Requests.requirePowerOfTwo(alignment);
        Requests.requireAtMost(alignment, MAX_BYTE_ALIGNMENT, this);
    }

    /** Says what was requested here. */
    private static OutOfMemoryException withoutPadding(OutOfMemoryException e, long byteSize) {
        final Shortage of = e.shortage();
        return new OutOfMemoryException(
                "There is no memory for " + byteSize + " bytes and their alignment",
                new Shortage(
                        of.memory(),
                        byteSize,
                        of.rounded(),
                        of.limit(),
                        of.inUse(),
                        of.held(),
                        of.largestFree(),
                        of.deviceFree(),
                        of.limitedBy()),
                e.dump(),
                e);
    }

    @Override
    protected void doDeallocate(long address, long byteSize, long requestedAlignment, @Nullable SyncStream stream) {
        final long alignment = Math.max(byteAlignment, requestedAlignment);
        final long upstreamAlignment = memory().byteAlignment();
        final long entry = aligned.take(address, -1);
        boolean isFreed = false;
        try {
            if (entry != -1) {
                requireAllocated(alignment, 1L << (entry & 63), address);
                final long padded = padded(byteSize, alignment, upstreamAlignment);
                deallocateUpstream(address - (entry >>> 6), padded, upstreamAlignment, stream);
                padding.getAndAdd(byteSize - padded);
            } else if (alignment <= upstreamAlignment) {
                deallocateUpstream(address, byteSize, upstreamAlignment, stream);
            } else {
                throw new ForeignAddressException(address, "not a live block of " + this);
            }
            isFreed = true;
        } finally {
            if (entry != -1) {
                aligned.settle(address, entry, null, isFreed);
            }
        }
    }

    private static void requireAllocated(long alignment, long recorded, long address) {
        if (alignment != recorded) {
            throw new InvalidAlignmentException(
                    alignment, "is not the " + recorded + " allocated at 0x" + Long.toHexString(address));
        }
    }

    private static long padded(long byteSize, long alignment, long upstreamAlignment) {
        if (byteSize > Long.MAX_VALUE - (alignment - upstreamAlignment)) {
            throw InvalidSizeException.overflow(byteSize, alignment);
        }
        return byteSize + (alignment - upstreamAlignment);
    }

    /**
     * Returns the counters of the memory below, of which padding is not requested. While other threads allocate and
     * deallocate, requested bytes may be wrong by the padding of their calls; at rest they are exact.
     */
    @Override
    public Optional<AllocatorStats> stats() {
        final long before = padding.get();
        return super.stats().map(below -> withoutPadding(below, Math.max(before, padding.get())));
    }

    private static AllocatorStats withoutPadding(AllocatorStats all, long added) {
        final long requested = Math.min(all.requestedBytesInUse() - added, all.bytesInUse());
        return copyOf(all)
                .inUse(all.bytesInUse(), Math.max(0, requested), all.peakBytesInUse())
                .build();
    }

    /** Returns a builder that has all figures of some statistics. */
    static AllocatorStats.Builder copyOf(AllocatorStats all) {
        return new AllocatorStats.Builder()
                .limit(all.limit())
                .inUse(all.bytesInUse(), all.requestedBytesInUse(), all.peakBytesInUse())
                .held(all.bytesHeld(), all.peakBytesHeld())
                .free(all.freeBytes(), all.largestFreeChunk())
                .calls(all.numAllocs(), all.numReserves(), all.numFailedAllocs(), all.maxAllocSize())
                .regions(all.numArenaExtensions(), all.numArenaShrinkages())
                .counters(all.counters());
    }
}
