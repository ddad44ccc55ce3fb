package allocator.resource;

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
 * An allocator of a provider, as a resource, so that a stack of decorators can stand on it. The allocator stays its
 * owner's: closing this resource does not release it.
 *
 * <p>An alignment above that of the allocator's memory is refused; {@link AlignedResource} gives more. Where the
 * allocator is not stream-aware, a deallocation on a stream waits for the stream.
 */
public final class AllocatorResource implements StreamOrderedMemoryResource {
    private final Allocator allocator;
    private final MemoryKind kind;
    private final @Nullable StreamAwareAllocator streamAware;
    private final @Nullable ShrinkableAllocator shrinkable;

    /** Blocks that were allocated on a stream, with it. */
    private final AddressTable<SyncStream> onStreams = new AddressTable<>();

    /**
     * Sees an allocator as a resource.
     *
     * @param allocator the allocator
     */
    public AllocatorResource(Allocator allocator) {
        this(allocator, MemoryKind.of(allocator.info()));
    }

    /**
     * Sees an allocator as a resource whose kind is known better than its info tells, such as unified memory.
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
                remember(address, byteSize, owner); // it is live still
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

    /** A stream-aware allocator ties memory to the stream of its allocation: that has to wait for the other one. */
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

    /** As the allocator, if it is asked for memory on streams at all. */
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
