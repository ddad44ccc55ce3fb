package allocator.resource;

import allocator.spi.InvalidFreeException;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Allocates from a second resource where the first has no more memory, and gives every block back to the one it came
 * from. Other failures of the first pass.
 */
public final class FallbackResource extends ResourceDecorator {
    private final StreamOrderedMemoryResource second;

    /** What came from the second. */
    private final AddressTable<Void> fromSecond = new AddressTable<>();

    /**
     * Adds a second choice to a resource.
     *
     * @param first the first choice
     * @param second the second choice, whose memory whoever uses the first's must be able to reach
     * @throws StackOrderException if the second's memory cannot stand in for the first's, or is bound to another stream
     */
    public FallbackResource(MemoryResource first, MemoryResource second) {
        super(first);
        if (!second.kind().canStandInFor(first.kind())) {
            throw new StackOrderException(second + " has " + second.kind() + " memory, which cannot stand in for the "
                    + first.kind() + " memory of " + first);
        }
        if (!second.context().equals(first.context())) {
            throw new StackOrderException(second + " may be used in another context than " + first + ": "
                    + second.context() + " is not " + first.context());
        }
        this.second = StreamOrderedMemoryResource.of(second);
    }

    @Override
    public List<MemoryResource> upstreams() {
        return List.of(upstream(), second);
    }

    @Override
    protected long take(long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        try {
            return takeUpstream(byteSize, byteAlignment, stream);
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
        boolean isKept = false;
        try {
            remember(address, byteSize);
            isKept = true;
        } finally {
            if (!isKept) {
                giveBackSecond(address, byteSize, byteAlignment, stream);
            }
        }
        return address;
    }

    private void remember(long address, long byteSize) {
        fromSecond.lock();
        try {
            fromSecond.put(address, byteSize, null);
        } finally {
            fromSecond.unlock();
        }
    }

    @Override
    protected void giveBack(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        if (!forget(address)) {
            giveBackUpstream(address, byteSize, byteAlignment, stream);
            return;
        }
        try {
            giveBackSecond(address, byteSize, byteAlignment, stream);
        } catch (InvalidFreeException | InvalidSizeException e) {
            remember(address, byteSize); // it is live still
            throw e;
        }
    }

    private void giveBackSecond(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
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
