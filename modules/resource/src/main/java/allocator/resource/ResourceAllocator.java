package allocator.resource;

import allocator.provider.support.RetryableReturns;
import allocator.resource.base.NativeMemory;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;

/**
 * Adapts a resource to an allocator that a session can use. Stores the size and stream of every live allocation,
 * because {@link #free} takes only an address.
 *
 * <p>The allocator is stream-aware and shrinkable. If the resource is not stream-ordered, freeing memory that was
 * allocated on a stream waits for the stream. {@link #close} ends the allocator and leaves the resource open.
 *
 * <p>Settings, reserves and statistics are those of the allocator at the bottom of the resource, if there is one;
 * {@link AllocatorStats#numFailedAllocs} counts the requests that failed here. Otherwise this allocator counts its own
 * blocks, and the memory of a block counts as held until the resource has taken it.
 *
 * <p>A block whose free fails is dead, and its memory <em>unreturned</em>: the next {@link #shrink} or {@link #close}
 * tries to deallocate it again, and so does {@link #returnAgain}. Where the allocator at the bottom counts such memory
 * as in use, {@link #stats} subtracts its requested size; padding that an {@link AlignedResource} added stays in use.
 */
public class ResourceAllocator implements StreamAwareAllocator, ShrinkableAllocator, RetryableReturns, AutoCloseable {
    /** How often {@link #stats} reads the counters below, while blocks become unreturned or are returned meanwhile. */
    private static final int MOST_READINGS = 8;

    private final StreamOrderedMemoryResource resource;
    private final LiveBlocks blocks;

    private ResourceAllocator(StreamOrderedMemoryResource resource) {
        this.resource = resource;
        blocks = new LiveBlocks(resource);
    }

    /**
     * Adapts a resource.
     *
     * @param resource the resource; its context must be {@link MemoryContext#ANY}
     * @return the allocator, a {@link HostAccessibleAllocator} if the host can access the memory
     * @throws StackOrderException if the resource is bound to a stream
     */
    public static ResourceAllocator of(MemoryResource resource) {
        if (!resource.context().equals(MemoryContext.ANY)) {
            throw new StackOrderException(
                    resource + " is bound to a stream; an allocator must serve every stream; remove the binding");
        }
        final StreamOrderedMemoryResource ordered = StreamOrderedMemoryResource.of(resource);
        return resource.kind().isHostAccessible() ? new OfHostMemory(ordered) : new ResourceAllocator(ordered);
    }

    /** Returns the resource from which this allocator allocates. */
    final MemoryResource resource() {
        return resource;
    }

    @Override
    public long alloc(long byteSize) {
        return blocks.allocate(byteSize, null, false);
    }

    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        return blocks.allocate(byteSize, stream, false);
    }

    @Override
    public long reserve(long byteSize) {
        return blocks.allocate(byteSize, null, true);
    }

    @Override
    public void free(long address) {
        if (address != 0) {
            blocks.free(address);
        }
    }

    @Override
    public boolean returnAgain(long address) {
        blocks.requireOpen();
        return blocks.returnAgain(address);
    }

    /** Returns whether this holds for the resource or any resource below it. */
    @Override
    public boolean isOrderedByDevice() {
        return resource.isOrderedByDevice();
    }

    @Override
    public MemoryInfo info() {
        return resource.memory();
    }

    @Override
    public int spiLevel() {
        return SpiLevel.SHRINK;
    }

    @Override
    public AllocatorOptions effectiveOptions() {
        return resource.effectiveOptions();
    }

    @Override
    public AllocatorStats stats() {
        blocks.requireOpen();
        Optional<AllocatorStats> below;
        long changes;
        long unreturned;
        int readings = 0;
        do {
            changes = blocks.unreturnedChanges();
            final long before = blocks.unreturnedBytes();
            below = resource.stats();
            unreturned = Math.min(before, blocks.unreturnedBytes());
        } while (below.isPresent() && changes != blocks.unreturnedChanges() && ++readings < MOST_READINGS);
        final AllocatorStats own = blocks.stats();
        return below.isPresent() ? withoutUnreturned(below.orElseThrow(), unreturned, own.numFailedAllocs()) : own;
    }

    /** Subtracts blocks that are in use below, but dead here. */
    private static AllocatorStats withoutUnreturned(AllocatorStats all, long unreturned, long failed) {
        final long dead = Math.min(unreturned, all.bytesInUse());
        return new AllocatorStats.Builder()
                .limit(all.limit())
                .inUse(all.bytesInUse() - dead, Math.max(0, all.requestedBytesInUse() - dead), all.peakBytesInUse())
                .held(all.bytesHeld(), all.peakBytesHeld())
                .free(all.freeBytes() + dead, all.largestFreeChunk())
                .calls(all.numAllocs(), all.numReserves(), failed, all.maxAllocSize())
                .regions(all.numArenaExtensions(), all.numArenaShrinkages())
                .counters(all.counters())
                .build();
    }

    /**
     * Deallocates again what is unreturned, then shrinks the resource.
     *
     * @throws allocator.spi.DeviceException if either fails; the rest is done
     */
    @Override
    public ShrinkReport shrink() {
        blocks.requireOpen();
        long returned = 0;
        ShrinkReport report;
        try {
            returned = returnAgain();
        } finally {
            report = resource.shrink();
        }
        return new ShrinkReport(
                report.bytesReleased() + returned,
                report.regionsReleased(),
                resource.stats().isPresent()
                        ? report.bytesHeld()
                        : blocks.stats().bytesHeld(),
                report.regionsInUse(),
                report.regionsKept(),
                resource.stats().isPresent() ? report.held() : List.of());
    }

    /** Deallocates again what is unreturned, and returns the bytes that went past the resource to the device. */
    private long returnAgain() {
        final Optional<AllocatorStats> before = resource.stats();
        final long returned = Math.max(0, blocks.returnAgain());
        final Optional<AllocatorStats> after = resource.stats();
        if (before.isEmpty() || after.isEmpty()) {
            return returned;
        }
        return Math.clamp(before.orElseThrow().bytesHeld() - after.orElseThrow().bytesHeld(), 0, returned);
    }

    /**
     * Ends this allocator: every later call but this one throws. Live allocations stay live in the resource. What is
     * unreturned is deallocated again; another call tries what is left.
     *
     * @throws allocator.spi.DeviceException if something is left; the allocator is closed
     */
    @Override
    public void close() {
        blocks.close();
    }

    final void requireOpen() {
        blocks.requireOpen();
    }

    @Override
    public String toString() {
        return "allocator over " + resource;
    }

    /** An allocator whose memory the host can access. */
    private static final class OfHostMemory extends ResourceAllocator implements HostAccessibleAllocator {
        OfHostMemory(StreamOrderedMemoryResource resource) {
            super(resource);
        }

        @Override
        public MemorySegment segment(long address, long byteSize) {
            requireOpen();
            Requests.requireSize(byteSize);
            if (address == 0 && byteSize != 0) {
                throw new InvalidSizeException(byteSize, "is not the size of the empty allocation");
            }
            return NativeMemory.segment(address, byteSize);
        }
    }
}
