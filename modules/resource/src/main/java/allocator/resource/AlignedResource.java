package allocator.resource;

import allocator.provider.support.StackReserve;
import allocator.resource.base.AddressTable;
import allocator.spi.AllocatorStats;
import allocator.spi.ForeignAddressException;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.SyncStream;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Aligns every block to at least a given alignment, and to any larger alignment requested, even if the upstream does
 * not support it: it then requests padding and returns an aligned address inside. Requests that the upstream aligns
 * well enough pass through.
 *
 * <p>The alignment of a block that was aligned here is checked when it is deallocated, since the padding depends on it.
 */
public final class AlignedResource extends ResourceDecorator {
    /** How often {@link #stats} reads the counters below, while the padding changes meanwhile. */
    private static final int MOST_READINGS = 8;

    private final long byteAlignment;

    /** The aligned addresses returned, each with the address that the upstream returned and the alignment attached. */
    private final AddressTable<Long> upstreamAddresses = new AddressTable<>();

    /**
     * Bytes by which requests were enlarged, from before the upstream allocates until it has the memory back. Guarded
     * by the lock of the table.
     */
    private long padding;

    /** Changes of {@link #padding} so far, guarded likewise. */
    private long paddingChanges;

    /**
     * Decorates a resource.
     *
     * @param upstream the resource
     * @param byteAlignment the least alignment in bytes, a power of two
     * @throws InvalidAlignmentException if {@code byteAlignment} is not a power of two
     */
    public AlignedResource(MemoryResource upstream, long byteAlignment) {
        super(upstream);
        Requests.requirePowerOfTwo(byteAlignment);
        this.byteAlignment = byteAlignment;
    }

    @Override
    protected long doAllocate(long byteSize, long requestedAlignment, @Nullable SyncStream stream) {
        return allocate(byteSize, requestedAlignment, stream, false);
    }

    @Override
    protected long doReserve(long byteSize, long requestedAlignment) {
        return allocate(byteSize, requestedAlignment, null, true);
    }

    private long allocate(long byteSize, long requestedAlignment, @Nullable SyncStream stream, boolean isReserve) {
        final long alignment = Math.max(byteAlignment, requestedAlignment);
        final long upstreamAlignment = memory().byteAlignment();
        if (alignment <= upstreamAlignment) {
            return allocateUpstream(byteSize, upstreamAlignment, stream, isReserve);
        }
        final long padded = padded(byteSize, alignment, upstreamAlignment);
        final Long attached = alignment;
        prepare(padded - byteSize);
        long address = 0;
        try {
            address = allocateUpstream(padded, upstreamAlignment, stream, isReserve);
        } catch (OutOfMemoryException e) {
            throw withoutPadding(e, byteSize);
        } finally {
            if (address == 0) {
                abandon(padded - byteSize);
            }
        }
        final long aligned = (address + alignment - 1) & -alignment;
        upstreamAddresses.enter(aligned, address, attached);
        return aligned;
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

    private void prepare(long bytesAdded) {
        StackReserve.touchBriefly();
        upstreamAddresses.lock.lock();
        try {
            upstreamAddresses.expect();
            padding += bytesAdded;
            paddingChanges++;
            upstreamAddresses.lock.unlock();
        } catch (Throwable e) {
            upstreamAddresses.lock.held = 0;
            throw e;
        }
    }

    private void abandon(long bytesAdded) {
        upstreamAddresses.lock.lock();
        try {
            upstreamAddresses.expectNoMore();
            padding -= bytesAdded;
            paddingChanges++;
            upstreamAddresses.lock.unlock();
        } catch (Throwable e) {
            upstreamAddresses.lock.held = 0;
            throw e;
        }
    }

    @Override
    protected void doDeallocate(long address, long byteSize, long requestedAlignment, @Nullable SyncStream stream) {
        final long alignment = Math.max(byteAlignment, requestedAlignment);
        final long upstreamAlignment = memory().byteAlignment();
        final Long attached = alignment;
        final long padded = alignment <= upstreamAlignment ? byteSize : padded(byteSize, alignment, upstreamAlignment);
        final long original = forget(address, alignment);
        if (alignment <= upstreamAlignment) {
            deallocateUpstream(address, byteSize, upstreamAlignment, stream);
            return;
        }
        if (original == 0) {
            throw new ForeignAddressException(address, "not a live block of " + this);
        }
        boolean isLive = true;
        try {
            deallocateUpstream(original, padded, upstreamAlignment, stream);
            isLive = false;
        } catch (TakenBackException e) {
            isLive = false;
            throw e;
        } finally {
            settle(address, original, attached, padded - byteSize, isLive);
        }
    }

    /** Ends the deallocation of a block that is in no table. */
    private void settle(long address, long original, Long attached, long bytesAdded, boolean isLive) {
        upstreamAddresses.lock.lock();
        try {
            if (isLive) {
                upstreamAddresses.add(address, original, attached);
            } else {
                padding -= bytesAdded;
                paddingChanges++;
            }
            upstreamAddresses.lock.unlock();
        } catch (Throwable e) {
            upstreamAddresses.lock.held = 0;
            throw e;
        }
    }

    private static long padded(long byteSize, long alignment, long upstreamAlignment) {
        if (byteSize > Long.MAX_VALUE - (alignment - upstreamAlignment)) {
            throw InvalidSizeException.overflow(byteSize, alignment);
        }
        return byteSize + (alignment - upstreamAlignment);
    }

    /** Removes a block and returns the upstream's address, 0 if there is none. Rejects another alignment. */
    private long forget(long address, long alignment) {
        StackReserve.touchBriefly();
        long original = 0;
        long recordedAlignment = alignment;
        upstreamAddresses.lock.lock();
        try {
            final int slot = upstreamAddresses.find(address);
            if (slot >= 0) {
                recordedAlignment = Objects.requireNonNull(upstreamAddresses.attachment(slot));
                if (recordedAlignment == alignment) {
                    original = upstreamAddresses.value(slot);
                    upstreamAddresses.remove(slot);
                }
            }
            upstreamAddresses.lock.unlock();
        } catch (Throwable e) {
            upstreamAddresses.lock.held = 0;
            throw e;
        }
        if (recordedAlignment != alignment) {
            throw new InvalidAlignmentException(
                    alignment, "is not the " + recordedAlignment + " allocated at 0x" + Long.toHexString(address));
        }
        return original;
    }

    /**
     * Returns the counters of the memory below, of which padding is not requested. While other threads allocate and
     * deallocate, requested bytes may be too small, by the padding of their calls at most but never below zero; at rest
     * they are exact.
     */
    @Override
    public Optional<AllocatorStats> stats() {
        Optional<AllocatorStats> below;
        long changes;
        long added;
        int readings = 0;
        do {
            changes = paddingChanges();
            final long before = padding();
            below = super.stats();
            added = Math.max(before, padding());
        } while (below.isPresent() && changes != paddingChanges() && ++readings < MOST_READINGS);
        return below.isPresent() ? Optional.of(withoutPadding(below.orElseThrow(), added)) : below;
    }

    private long padding() {
        upstreamAddresses.lock.lock();
        final long bytes = padding;
        upstreamAddresses.lock.unlock();
        return bytes;
    }

    private long paddingChanges() {
        upstreamAddresses.lock.lock();
        final long changes = paddingChanges;
        upstreamAddresses.lock.unlock();
        return changes;
    }

    private static AllocatorStats withoutPadding(AllocatorStats all, long added) {
        final long requested = Math.min(all.requestedBytesInUse() - added, all.bytesInUse());
        return new AllocatorStats.Builder()
                .limit(all.limit())
                .inUse(all.bytesInUse(), Math.max(0, requested), all.peakBytesInUse())
                .held(all.bytesHeld(), all.peakBytesHeld())
                .free(all.freeBytes(), all.largestFreeChunk())
                .calls(all.numAllocs(), all.numReserves(), all.numFailedAllocs(), all.maxAllocSize())
                .regions(all.numArenaExtensions(), all.numArenaShrinkages())
                .counters(all.counters())
                .build();
    }
}
