package allocator.resource;

import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorStats;
import allocator.spi.ForeignAddressException;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A resource, as an allocator that a session can use. It remembers size and stream of what is live, which the contract
 * of allocators does not hand back on a free.
 *
 * <p>The allocator is stream-aware and shrinkable; where the resource is not stream-ordered, a free of memory that was
 * allocated on a stream waits for the stream. {@link #close} refuses further use and leaves the resource alone.
 */
public class ResourceAllocator implements StreamAwareAllocator, ShrinkableAllocator, AutoCloseable {
    private final StreamOrderedMemoryResource resource;
    private final AddressTable<SyncStream> live = new AddressTable<>();

    // Guarded by the table's lock
    private boolean closed;
    private long bytesInUse;
    private long peakBytesInUse;
    private long maxAllocSize;
    private long numAllocs;
    private long numFailedAllocs;

    private ResourceAllocator(StreamOrderedMemoryResource resource) {
        this.resource = resource;
    }

    /**
     * Sees a resource as an allocator.
     *
     * @param resource the resource; its context must be {@link MemoryContext#ANY}
     * @return the allocator; a {@link HostAccessibleAllocator} if the host can reach the memory
     * @throws StackOrderException if the resource is bound to a stream
     */
    public static ResourceAllocator of(MemoryResource resource) {
        if (!resource.context().equals(MemoryContext.ANY)) {
            throw new StackOrderException(
                    resource + " is bound to a stream; an allocator must serve every stream, so leave the binding out");
        }
        final StreamOrderedMemoryResource ordered = StreamOrderedMemoryResource.of(resource);
        return resource.kind().isHostAccessible() ? new OfHostMemory(ordered) : new ResourceAllocator(ordered);
    }

    /** The resource that this allocator draws from. */
    final MemoryResource resource() {
        return resource;
    }

    @Override
    public long alloc(long byteSize) {
        return take(byteSize, null);
    }

    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        return take(byteSize, stream);
    }

    private long take(long byteSize, @Nullable SyncStream stream) {
        requireOpen();
        final long byteAlignment = info().byteAlignment();
        final long address;
        try {
            address = stream == null
                    ? resource.allocate(byteSize, byteAlignment)
                    : resource.allocate(byteSize, byteAlignment, stream);
        } catch (OutOfMemoryException e) {
            live.lock();
            numFailedAllocs++;
            live.unlock();
            throw e;
        }
        if (address != 0) {
            keep(address, byteSize, stream);
        }
        return address;
    }

    private void keep(long address, long byteSize, @Nullable SyncStream stream) {
        boolean isKept = false;
        live.lock();
        try {
            if (!closed) {
                live.put(address, byteSize, stream);
                bytesInUse += byteSize;
                peakBytesInUse = Math.max(peakBytesInUse, bytesInUse);
                maxAllocSize = Math.max(maxAllocSize, byteSize);
                numAllocs++;
                isKept = true;
            }
        } finally {
            live.unlock();
            if (!isKept) {
                giveBack(address, byteSize, stream);
            }
        }
        if (!isKept) {
            throw closedException();
        }
    }

    @Override
    public void free(long address) {
        if (address == 0) {
            return;
        }
        final long byteSize;
        final SyncStream stream;
        live.lock();
        try {
            if (closed) {
                throw closedException();
            }
            final int slot = live.find(address);
            if (slot < 0) {
                throw new ForeignAddressException(address, "not a live block of " + this);
            }
            byteSize = live.value(slot);
            stream = live.attachment(slot);
            live.remove(slot);
            bytesInUse -= byteSize;
        } finally {
            live.unlock();
        }
        giveBack(address, byteSize, stream);
    }

    private void giveBack(long address, long byteSize, @Nullable SyncStream stream) {
        final long byteAlignment = info().byteAlignment();
        if (stream == null) {
            resource.deallocate(address, byteSize, byteAlignment);
        } else {
            resource.deallocate(address, byteSize, byteAlignment, stream);
        }
    }

    /** As the resource, and whatever that draws from. */
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
    public AllocatorStats stats() {
        live.lock();
        try {
            if (closed) {
                throw closedException();
            }
            return new AllocatorStats.Builder()
                    .inUse(bytesInUse, bytesInUse, peakBytesInUse)
                    .held(bytesInUse, peakBytesInUse)
                    .calls(numAllocs, 0, numFailedAllocs, maxAllocSize)
                    .build();
        } finally {
            live.unlock();
        }
    }

    @Override
    public ShrinkReport shrink() {
        requireOpen();
        return resource.shrink();
    }

    /** Refuses further use. What is still live stays with the resource. A second call does nothing. */
    @Override
    public void close() {
        live.lock();
        closed = true;
        live.unlock();
    }

    private void requireOpen() {
        live.lock();
        final boolean isClosed = closed;
        live.unlock();
        if (isClosed) {
            throw closedException();
        }
    }

    private AllocatorClosedException closedException() {
        return new AllocatorClosedException(this + " is closed");
    }

    @Override
    public String toString() {
        return "allocator over " + resource;
    }

    /** An allocator whose memory the host can reach. */
    private static final class OfHostMemory extends ResourceAllocator implements HostAccessibleAllocator {
        OfHostMemory(StreamOrderedMemoryResource resource) {
            super(resource);
        }

        @Override
        public MemorySegment segment(long address, long byteSize) {
            Requests.requireSize(byteSize);
            if (address == 0 && byteSize != 0) {
                throw new InvalidSizeException(byteSize, "is not that of the empty allocation");
            }
            return HostMemory.segment(address, byteSize);
        }
    }
}
