package allocator.resource;

import allocator.spi.ForeignAddressException;
import allocator.spi.InvalidFreeException;
import allocator.spi.InvalidSizeException;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * Gives every block at least one alignment, and any larger one that is asked for, whatever the upstream gives: where
 * that is less, it asks for more bytes and hands out an address inside. What the upstream aligns well enough passes
 * through.
 */
public final class AlignedResource extends ResourceDecorator {
    private final long byteAlignment;

    /** What was handed out in place of another address, with that address. */
    private final AddressTable<Void> upstreamAddresses = new AddressTable<>();

    /**
     * Forces alignment on a resource.
     *
     * @param upstream the resource
     * @param byteAlignment the least alignment in bytes, a power of two
     * @throws InvalidAlignmentException if it is not a power of two
     */
    public AlignedResource(MemoryResource upstream, long byteAlignment) {
        super(upstream);
        Requests.requirePowerOfTwo(byteAlignment);
        this.byteAlignment = byteAlignment;
    }

    @Override
    protected long take(long byteSize, long askedAlignment, @Nullable SyncStream stream) {
        final long alignment = Math.max(byteAlignment, askedAlignment);
        final long given = memory().byteAlignment();
        if (alignment <= given) {
            return takeUpstream(byteSize, given, stream);
        }
        final long padded = padded(byteSize, alignment, given);
        final long address = takeUpstream(padded, given, stream);
        final long aligned = (address + alignment - 1) & -alignment;
        boolean isKept = false;
        try {
            remember(aligned, address);
            isKept = true;
        } finally {
            if (!isKept) {
                giveBackUpstream(address, padded, given, stream);
            }
        }
        return aligned;
    }

    private void remember(long address, long original) {
        upstreamAddresses.lock();
        try {
            upstreamAddresses.put(address, original, null);
        } finally {
            upstreamAddresses.unlock();
        }
    }

    @Override
    protected void giveBack(long address, long byteSize, long askedAlignment, @Nullable SyncStream stream) {
        final long alignment = Math.max(byteAlignment, askedAlignment);
        final long given = memory().byteAlignment();
        if (alignment <= given) {
            giveBackUpstream(address, byteSize, given, stream);
            return;
        }
        final long original = forget(address);
        try {
            giveBackUpstream(original, padded(byteSize, alignment, given), given, stream);
        } catch (InvalidFreeException | InvalidSizeException e) {
            remember(address, original); // it is live still
            throw e;
        }
    }

    private static long padded(long byteSize, long alignment, long given) {
        if (byteSize > Long.MAX_VALUE - (alignment - given)) {
            throw InvalidSizeException.overflow(byteSize, alignment);
        }
        return byteSize + (alignment - given);
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
