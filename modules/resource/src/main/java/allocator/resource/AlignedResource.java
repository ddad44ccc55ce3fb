package allocator.resource;

import allocator.resource.base.AddressTable;
import allocator.spi.ForeignAddressException;
import allocator.spi.InvalidFreeException;
import allocator.spi.InvalidSizeException;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * Aligns every block to at least a given alignment, and to any larger alignment requested, even if the upstream does
 * not support it: it then requests padding and returns an aligned address inside. Requests that the upstream aligns
 * well enough pass through.
 */
public final class AlignedResource extends ResourceDecorator {
    private final long byteAlignment;

    /** The aligned addresses returned, each with the address that the upstream returned. */
    private final AddressTable<Void> upstreamAddresses = new AddressTable<>();

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
        final long alignment = Math.max(byteAlignment, requestedAlignment);
        final long upstreamAlignment = memory().byteAlignment();
        if (alignment <= upstreamAlignment) {
            return allocateUpstream(byteSize, upstreamAlignment, stream);
        }
        final long padded = padded(byteSize, alignment, upstreamAlignment);
        final long address = allocateUpstream(padded, upstreamAlignment, stream);
        final long aligned = (address + alignment - 1) & -alignment;
        boolean isRecorded = false;
        try {
            record(aligned, address);
            isRecorded = true;
        } finally {
            if (!isRecorded) {
                deallocateUpstream(address, padded, upstreamAlignment, stream);
            }
        }
        return aligned;
    }

    private void record(long address, long original) {
        upstreamAddresses.lock();
        try {
            upstreamAddresses.put(address, original, null);
        } finally {
            upstreamAddresses.unlock();
        }
    }

    @Override
    protected void doDeallocate(long address, long byteSize, long requestedAlignment, @Nullable SyncStream stream) {
        final long alignment = Math.max(byteAlignment, requestedAlignment);
        final long upstreamAlignment = memory().byteAlignment();
        if (alignment <= upstreamAlignment) {
            deallocateUpstream(address, byteSize, upstreamAlignment, stream);
            return;
        }
        final long original = forget(address);
        try {
            deallocateUpstream(original, padded(byteSize, alignment, upstreamAlignment), upstreamAlignment, stream);
        } catch (InvalidFreeException | InvalidSizeException e) {
            record(address, original); // still live
            throw e;
        }
    }

    private static long padded(long byteSize, long alignment, long upstreamAlignment) {
        if (byteSize > Long.MAX_VALUE - (alignment - upstreamAlignment)) {
            throw InvalidSizeException.overflow(byteSize, alignment);
        }
        return byteSize + (alignment - upstreamAlignment);
    }

    private long forget(long address) {
        upstreamAddresses.lock();
        try {
            final int slot = upstreamAddresses.find(address);
            if (slot < 0) {
                throw new ForeignAddressException(address, "not a live block of " + this);
            }
            final long original = upstreamAddresses.value(slot);
            upstreamAddresses.remove(slot);
            return original;
        } finally {
            upstreamAddresses.unlock();
        }
    }
}
