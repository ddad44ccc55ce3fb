package allocator.resource;

import allocator.resource.base.AddressTable;
import allocator.spi.Allocator;
import allocator.spi.InvalidFreeException;
import allocator.spi.MemoryInfo;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Adapts an allocator of a provider to a resource, as the bottom of a stack of decorators. Closing this resource does
 * not release the allocator.
 *
 * <p>An alignment above that of the allocator's memory is rejected; {@link AlignedResource} adds larger ones. If the
 * allocator is not stream-aware, a deallocation on a stream waits for the stream.
 */
public final class AllocatorResource implements StreamOrderedMemoryResource {
    private final Allocator allocator;
    private final MemoryKind kind;
    private final @Nullable StreamAwareAllocator streamAware;
    private final @Nullable ShrinkableAllocator shrinkable;

    /** The blocks that were allocated on a stream, with their streams. */
    private final AddressTable<SyncStream> onStreams = new AddressTable<>();

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
        streamAware = allocator instanceof StreamAwareAllocator aware && allocator.spiLevel() >= SpiLevel.STREAMS
                ? aware
                : null;
        shrinkable =
                allocator instanceof ShrinkableAllocator able && allocator.spiLevel() >= SpiLevel.SHRINK ? able : null;
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
    public long allocate(long byteSize, long byteAlignment, SyncStream stream) {
        requireAlignment(byteSize, byteAlignment);
        if (streamAware == null) {
            return allocator.alloc(byteSize);
        }
        final long address = streamAware.allocOnStream(byteSize, stream);
        if (address != 0) {
            remember(address, byteSize, stream);
        }
        return address;
    }

    private void remember(long address, long byteSize, SyncStream stream) {
        onStreams.lock();
        try {
            onStreams.put(address, byteSize, stream);
        } finally {
            onStreams.unlock();
        }
    }

    private void requireAlignment(long byteSize, long byteAlignment) {
        Requests.requireValid(byteSize, byteAlignment);
        Requests.requireAtMost(byteAlignment, allocator.info().byteAlignment(), this);
    }

    @Override
    public void deallocate(long address, long byteSize, long byteAlignment) {
        free(address, byteSize, forget(address));
    }

    private void free(long address, long byteSize, @Nullable SyncStream owner) {
        try {
            allocator.free(address);
        } catch (InvalidFreeException e) {
            if (owner != null) {
                remember(address, byteSize, owner); // still live
            }
            throw e;
        }
    }

    @Override
    public void deallocate(long address, long byteSize, long byteAlignment, SyncStream stream) {
        if (address == 0) {
            return;
        }
        final SyncStream owner = forget(address);
        if (owner == null) {
            stream.flush();
        } else if (owner.id() != stream.id()) {
            order(stream, owner);
        }
        free(address, byteSize, owner);
    }

    /** The allocator binds memory to the stream of its allocation, so that stream must wait for the other. */
    private static void order(SyncStream before, SyncStream after) {
        try (SyncNotification point = before.createNotification()) {
            point.activate();
            point.waitOnDevice(after);
        }
    }

    private @Nullable SyncStream forget(long address) {
        if (streamAware == null) {
            return null;
        }
        onStreams.lock();
        try {
            final int slot = onStreams.find(address);
            if (slot < 0) {
                return null;
            }
            final SyncStream stream = onStreams.attachment(slot);
            onStreams.remove(slot);
            return stream;
        } finally {
            onStreams.unlock();
        }
    }

    @Override
    public ShrinkReport shrink() {
        return shrinkable == null ? StreamOrderedMemoryResource.super.shrink() : shrinkable.shrink();
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
