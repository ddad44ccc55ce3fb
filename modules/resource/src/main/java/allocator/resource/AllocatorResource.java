package allocator.resource;

import allocator.provider.support.internal.SameDevice;
import allocator.resource.base.LiveTable;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.MemoryInfo;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Adapts an allocator of a provider to a resource, as the bottom of a stack of decorators. Closing this resource does
 * not release the allocator.
 *
 * <p>A deallocation on another stream than that of the allocation makes the latter wait on the device, or waits on the
 * host if the latter has ended.
 *
 * <p>Devices are compared by the locations of their memory. An allocator whose memory is at a location of another
 * device (F-03) serves the streams that were created for that memory.
 *
 * <p>An alignment above that of the allocator's memory is rejected; {@link AlignedResource} adds larger ones. If the
 * allocator is not stream-aware, a deallocation on a stream waits for the stream.
 *
 * <p>The size of a block that was allocated on a stream is checked when it is deallocated. That of any other block is
 * not: the allocator knows it, but has no call for it, and a table of it here would cost about as much as the allocator
 * itself.
 *
 * <p>Memory that the allocator's device does not take back stays with the allocator.
 */
public final class AllocatorResource implements StreamOrderedMemoryResource {
    private final Allocator allocator;
    private final MemoryKind kind;
    private final @Nullable StreamAwareAllocator streamAware;
    private final @Nullable ShrinkableAllocator shrinkable;

    /** The blocks that were allocated on a stream, with their streams. */
    private final LiveTable<SyncStream> onStreams = new LiveTable<>(true);

    private final boolean canReserve;

    /**
     * Adapts an allocator.
     *
     * @param allocator the allocator
     */
    public AllocatorResource(Allocator allocator) {
        this(allocator, MemoryKind.of(allocator.info()));
    }

    /**
     * Adapts an allocator whose memory is of a kind that its info cannot express, such as unified memory.
     *
     * @param allocator the allocator
     * @param kind the kind of its memory
     */
    public AllocatorResource(Allocator allocator, MemoryKind kind) {
        this.allocator = allocator;
        this.kind = kind;
        final int level = allocator.spiLevel();
        streamAware = level < SpiLevel.STREAMS
                ? null
                : allocator.as(StreamAwareAllocator.class).orElse(null);
        canReserve = level >= SpiLevel.RESERVE;
        shrinkable = level < SpiLevel.SHRINK
                ? null
                : allocator.as(ShrinkableAllocator.class).orElse(null);
    }

    @Override
    public MemoryInfo memory() {
        return allocator.info();
    }

    @Override
    public MemoryKind kind() {
        return kind;
    }

    @Override
    public long allocate(long byteSize, long byteAlignment) {
        requireAlignment(byteSize, byteAlignment);
        return allocator.alloc(byteSize);
    }

    @Override
    public long reserve(long byteSize, long byteAlignment) {
        if (!canReserve) {
            return allocate(byteSize, byteAlignment);
        }
        requireAlignment(byteSize, byteAlignment);
        return allocator.reserve(byteSize);
    }

    @Override
    public long allocate(long byteSize, long byteAlignment, SyncStream stream) {
        SameDevice.require(stream, memory());
        if (streamAware == null) {
            return allocate(byteSize, byteAlignment);
        }
        requireAlignment(byteSize, byteAlignment);
        onStreams.expect();
        long address = 0;
        try {
            address = streamAware.allocOnStream(byteSize, stream);
        } finally {
            if (address == 0) {
                onStreams.expectNoMore();
            }
        }
        if (address != 0) {
            onStreams.add(address, byteSize, stream);
        }
        return address;
    }

    private void requireAlignment(long byteSize, long byteAlignment) {
        Requests.requireValid(byteSize, byteAlignment);
        Requests.requireAtMost(byteAlignment, allocator.info().byteAlignment(), this);
    }

    @Override
    public void deallocate(long address, long byteSize, long byteAlignment) {
        if (address != 0) {
            free(address, byteSize, null);
        }
    }

    @Override
    public void deallocate(long address, long byteSize, long byteAlignment, SyncStream stream) {
        if (address != 0) {
            SameDevice.require(stream, memory());
            free(address, byteSize, stream);
        }
    }

    private void free(long address, long byteSize, @Nullable SyncStream stream) {
        Requests.requireSize(byteSize);
        final SyncStream owner = streamAware == null ? null : onStreams.takeAttached(address, byteSize);
        boolean isFreed = false;
        try {
            if (stream != null) {
                order(stream, owner);
            }
            allocator.free(address);
            isFreed = true;
        } finally {
            if (owner != null) {
                onStreams.settle(address, byteSize, owner, isFreed);
            }
        }
    }

    /**
     * Lets the free follow the work of a stream: the allocator binds memory to the stream of its allocation. If that
     * one has ended, nothing can be queued on it, and the host waits.
     */
    private static void order(SyncStream stream, @Nullable SyncStream owner) {
        if (owner == null || (owner.id() != stream.id() && (owner.hasEnded() || !hasQueuedWait(stream, owner)))) {
            ResourceDecorator.await(stream);
        }
    }

    /** Makes the owner wait for a stream; returns false if it has ended since. */
    private static boolean hasQueuedWait(SyncStream stream, SyncStream owner) {
        try (SyncNotification point = stream.createNotification()) {
            point.activate();
            point.waitOnDevice(owner);
            return true;
        } catch (IllegalStateException e) {
            if (!owner.hasEnded()) {
                throw e;
            }
            return false;
        }
    }

    /** Returns the counters of the allocator; empty if it has none. */
    @Override
    public Optional<AllocatorStats> stats() {
        return allocator.spiLevel() >= SpiLevel.STATISTICS ? Optional.of(allocator.stats()) : Optional.empty();
    }

    @Override
    public AllocatorOptions effectiveOptions() {
        return allocator.effectiveOptions();
    }

    @Override
    public ShrinkReport shrink() {
        return shrinkable == null
                ? new ShrinkReport(0, 0, stats().map(AllocatorStats::bytesHeld).orElse(0L), 0, 0)
                : shrinkable.shrink();
    }

    /** Returns whether this holds for the allocator, if it is stream-aware. */
    @Override
    public boolean isOrderedByDevice() {
        return streamAware != null && streamAware.isOrderedByDevice();
    }

    @Override
    public List<MemoryResource> upstreams() {
        return allocator instanceof ResourceAllocator over ? List.of(over.resource()) : List.of();
    }

    @Override
    public String toString() {
        return "allocator of " + allocator.info();
    }
}
