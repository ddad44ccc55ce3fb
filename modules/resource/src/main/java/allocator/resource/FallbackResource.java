package allocator.resource;

import allocator.resource.base.AddressTable;
import allocator.spi.InvalidFreeException;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Allocates from a second resource when the first is out of memory, and deallocates every block through the resource
 * that allocated it. Other failures of the first pass through.
 */
public final class FallbackResource extends ResourceDecorator {
    private final StreamOrderedMemoryResource second;

    /** The live blocks of the second resource. */
    private final AddressTable<Void> fromSecond = new AddressTable<>();

    /**
     * Combines two resources.
     *
     * @param first the first choice
     * @param second the second choice; its memory must be accessible wherever that of {@code first} is
     * @throws StackOrderException if the kind of the second cannot {@linkplain MemoryKind#canReplace replace} that of
     *     the first, or their contexts differ
     */
    public FallbackResource(MemoryResource first, MemoryResource second) {
        super(first);
        if (!second.kind().canReplace(first.kind())) {
            throw new StackOrderException(second + " has " + second.kind() + " memory, which cannot replace the "
                    + first.kind() + " memory of " + first);
        }
        if (!second.context().equals(first.context())) {
            throw new StackOrderException(second + " has another context than " + first + ": " + second.context()
                    + " is not " + first.context());
        }
        this.second = StreamOrderedMemoryResource.of(second);
    }

    @Override
    public List<MemoryResource> upstreams() {
        return List.of(upstream(), second);
    }

    @Override
    protected long doAllocate(long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        try {
            return allocateUpstream(byteSize, byteAlignment, stream);
        } catch (OutOfMemoryException e) {
            return takeSecond(byteSize, byteAlignment, stream, e);
        }
    }

    private long takeSecond(
            long byteSize, long byteAlignment, @Nullable SyncStream stream, OutOfMemoryException failureOfFirst) {
        final long address;
        try {
            address = stream == null
                    ? second.allocate(byteSize, byteAlignment)
                    : second.allocate(byteSize, byteAlignment, stream);
        } catch (OutOfMemoryException e) {
            e.addSuppressed(failureOfFirst);
            throw e;
        }
        boolean isRecorded = false;
        try {
            record(address, byteSize);
            isRecorded = true;
        } finally {
            if (!isRecorded) {
                deallocateSecond(address, byteSize, byteAlignment, stream);
            }
        }
        return address;
    }

    private void record(long address, long byteSize) {
        fromSecond.lock();
        try {
            fromSecond.put(address, byteSize, null);
        } finally {
            fromSecond.unlock();
        }
    }

    @Override
    protected void doDeallocate(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        if (!forget(address)) {
            deallocateUpstream(address, byteSize, byteAlignment, stream);
            return;
        }
        try {
            deallocateSecond(address, byteSize, byteAlignment, stream);
        } catch (InvalidFreeException | InvalidSizeException e) {
            record(address, byteSize); // still live
            throw e;
        }
    }

    private void deallocateSecond(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        if (stream == null) {
            second.deallocate(address, byteSize, byteAlignment);
        } else {
            second.deallocate(address, byteSize, byteAlignment, stream);
        }
    }

    private boolean forget(long address) {
        fromSecond.lock();
        try {
            final int slot = fromSecond.find(address);
            if (slot >= 0) {
                fromSecond.remove(slot);
            }
            return slot >= 0;
        } finally {
            fromSecond.unlock();
        }
    }

    @Override
    public ShrinkReport shrink() {
        final ShrinkReport one = super.shrink();
        final ShrinkReport two = second.shrink();
        return new ShrinkReport(
                one.bytesReleased() + two.bytesReleased(),
                one.regionsReleased() + two.regionsReleased(),
                one.bytesHeld() + two.bytesHeld(),
                one.regionsInUse() + two.regionsInUse(),
                one.regionsKept() + two.regionsKept());
    }

    @Override
    public String toString() {
        return "Fallback(" + upstream() + ", " + second + ")";
    }
}
