package allocator.resource;

import allocator.resource.base.AddressTable;
import allocator.resource.base.NativeMemory;
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
 * Adapts a resource to an allocator that a session can use. Stores the size and stream of every live allocation,
 * because {@link #free} takes only an address.
 *
 * <p>The allocator is stream-aware and shrinkable. If the resource is not stream-ordered, freeing memory that was
 * allocated on a stream waits for the stream. {@link #close} ends the allocator and leaves the resource open.
 */
public class ResourceAllocator implements StreamAwareAllocator, ShrinkableAllocator, AutoCloseable {
    private final StreamOrderedMemoryResource resource;
    private final AddressTable<SyncStream> live = new AddressTable<>();

    // Guarded by the table's lock
    private boolean isClosed;
    private long bytesInUse;
    private long peakBytesInUse;
    private long maxAllocSize;
    private long numAllocs;
    private long numFailedAllocs;

    private ResourceAllocator(StreamOrderedMemoryResource resource) {
        this.resource = resource;
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
        return allocate(byteSize, null);
    }

    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        return allocate(byteSize, stream);
    }

    private long allocate(long byteSize, @Nullable SyncStream stream) {
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
            record(address, byteSize, stream);
        }
        return address;
    }

    private void record(long address, long byteSize, @Nullable SyncStream stream) {
        boolean isRecorded = false;
        live.lock();
        try {
            if (!isClosed) {
                live.put(address, byteSize, stream);
                bytesInUse += byteSize;
                peakBytesInUse = Math.max(peakBytesInUse, bytesInUse);
                maxAllocSize = Math.max(maxAllocSize, byteSize);
                numAllocs++;
                isRecorded = true;
            }
        } finally {
            live.unlock();
            if (!isRecorded) {
                deallocate(address, byteSize, stream);
            }
        }
        if (!isRecorded) {
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
            if (isClosed) {
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
        deallocate(address, byteSize, stream);
    }

    private void deallocate(long address, long byteSize, @Nullable SyncStream stream) {
        final long byteAlignment = info().byteAlignment();
        if (stream == null) {
            resource.deallocate(address, byteSize, byteAlignment);
        } else {
            resource.deallocate(address, byteSize, byteAlignment, stream);
        }
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
    public AllocatorStats stats() {
        live.lock();
        try {
            if (isClosed) {
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

    /**
     * Ends this allocator: every later call but this one throws. Live allocations stay live in the resource. A second
     * call does nothing.
     */
    @Override
    public void close() {
        live.lock();
        isClosed = true;
        live.unlock();
    }

    private void requireOpen() {
        live.lock();
        final boolean wasClosed = isClosed;
        live.unlock();
        if (wasClosed) {
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

    /** An allocator whose memory the host can access. */
    private static final class OfHostMemory extends ResourceAllocator implements HostAccessibleAllocator {
        OfHostMemory(StreamOrderedMemoryResource resource) {
            super(resource);
        }

        @Override
        public MemorySegment segment(long address, long byteSize) {
            Requests.requireSize(byteSize);
            if (address == 0 && byteSize != 0) {
                throw new InvalidSizeException(byteSize, "is not the size of the empty allocation");
            }
            return NativeMemory.segment(address, byteSize);
        }
    }
}
