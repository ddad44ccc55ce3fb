package allocator.resource;

import allocator.provider.support.BlockLedger;
import allocator.provider.support.UnreturnedMemory;
import allocator.resource.base.NativeMemory;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import allocator.spi.UnsupportedMemoryException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

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
 * <p>Memory whose deallocation the resource rejects, since its stream is closed and not known to have ended, is
 * <em>unreturned</em>: the next {@link #shrink} or {@link #close} deallocates it again. Where the allocator at the
 * bottom counts such memory as in use, {@link #stats} subtracts its requested size; padding that an
 * {@link AlignedResource} added stays in use.
 */
public final class ResourceAllocator
        implements StreamAwareAllocator, ShrinkableAllocator, HostAccessibleAllocator, UnreturnedMemory, AutoCloseable {
    private final StreamOrderedMemoryResource resource;
    private final BlockLedger<SyncStream> ledger;
    private volatile boolean isClosed;

    private ResourceAllocator(StreamOrderedMemoryResource resource) {
        this.resource = resource;
        ledger = new BlockLedger<>(resource.memory(), this::giveBack);
    }

    /**
     * Adapts a resource.
     *
     * @param resource the resource; its context must be {@link MemoryContext#ANY}
     * @return the allocator, which has the {@linkplain #as capability} {@link HostAccessibleAllocator} if the host can
     *     access the memory
     * @throws StackOrderException if the resource is bound to a stream
     */
    public static ResourceAllocator of(MemoryResource resource) {
        if (!resource.context().equals(MemoryContext.ANY)) {
            throw new StackOrderException(
                    resource + " is bound to a stream; an allocator must serve every stream; remove the binding");
        }
        return new ResourceAllocator(StreamOrderedMemoryResource.of(resource));
    }

    @Override
    public <T> Optional<T> as(Class<T> capability) {
        return capability.isInstance(this)
                        && (capability != HostAccessibleAllocator.class
                                || resource.kind().isHostAccessible())
                ? Optional.of(capability.cast(this))
                : Optional.empty();
    }

    /** Returns the resource from which this allocator allocates. */
    MemoryResource resource() {
        return resource;
    }

    @Override
    public long alloc(long byteSize) {
        return allocate(byteSize, null, false);
    }

    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        return allocate(byteSize, stream, false);
    }

    @Override
    public long reserve(long byteSize) {
        return allocate(byteSize, null, true);
    }

    private long allocate(long byteSize, @Nullable SyncStream stream, boolean isReserve) {
        requireOpen();
        long address;
        try {
            address = take(byteSize, stream, isReserve);
        } catch (OutOfMemoryException e) {
            if (ledger.returnAgain() == 0) {
                ledger.failed();
                throw e;
            }
            address = takeAgain(byteSize, stream, isReserve);
        }
        if (isClosed && address != 0) {
            ledger.free(address);
            requireOpen();
        }
        return address;
    }

    private long takeAgain(long byteSize, @Nullable SyncStream stream, boolean isReserve) {
        try {
            return take(byteSize, stream, isReserve);
        } catch (OutOfMemoryException e) {
            ledger.failed();
            throw e;
        }
    }

    private long take(long byteSize, @Nullable SyncStream stream, boolean isReserve) {
        final long byteAlignment = resource.memory().byteAlignment();
        ledger.begin();
        long address = 0;
        try {
            if (stream != null) {
                address = resource.allocate(byteSize, byteAlignment, stream);
            } else if (isReserve) {
                address = resource.reserve(byteSize, byteAlignment);
            } else {
                address = resource.allocate(byteSize, byteAlignment);
            }
        } finally {
            ledger.end(address, byteSize, stream, isReserve);
        }
        return address;
    }

    @Override
    public void free(long address) {
        requireOpen();
        if (address != 0) {
            ledger.free(address);
        }
    }

    private boolean giveBack(long address, long byteSize, @Nullable SyncStream stream) {
        StreamBoundResource.deallocate(
                resource, address, byteSize, resource.memory().byteAlignment(), stream);
        return true;
    }

    /**
     * Returns a segment over a block.
     *
     * @throws UnsupportedMemoryException if the host cannot access the memory
     */
    @Override
    public MemorySegment segment(long address, long byteSize) {
        requireOpen();
        Requests.requireSize(byteSize);
        if (!resource.kind().isHostAccessible()) {
            throw new UnsupportedMemoryException("the host cannot access the memory of " + resource);
        }
        if (address == 0 && byteSize != 0) {
            throw new InvalidSizeException(byteSize, "is not the size of the empty allocation");
        }
        return NativeMemory.segment(address, byteSize);
    }

    @Override
    public long unreturnedBytes() {
        return ledger.unreturnedBytes();
    }

    @Override
    public long returnAgain() {
        return ledger.returnAgain();
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
        requireOpen();
        final AllocatorStats own = ledger.stats();
        return resource.stats()
                .map(below -> withoutUnreturned(below, ledger.unreturnedBytes(), own.numFailedAllocs()))
                .orElse(own);
    }

    /** Subtracts blocks that are in use below, but dead here. */
    private static AllocatorStats withoutUnreturned(AllocatorStats all, long unreturned, long failed) {
        final long dead = Math.min(unreturned, all.bytesInUse());
        return AlignedResource.copyOf(all)
                .inUse(all.bytesInUse() - dead, Math.max(0, all.requestedBytesInUse() - dead), all.peakBytesInUse())
                .free(all.freeBytes() + dead, all.largestFreeChunk())
                .calls(all.numAllocs(), all.numReserves(), failed, all.maxAllocSize())
                .build();
    }

    /**
     * Deallocates again what is unreturned, then shrinks the resource.
     *
     * @throws allocator.spi.DeviceException if the device of the resource fails
     */
    @Override
    public ShrinkReport shrink() {
        requireOpen();
        final long before = bytesHeld();
        final long returned = ledger.returnAgain();
        final long released = Math.clamp(before - bytesHeld(), 0, returned);
        final ShrinkReport report = resource.shrink();
        final boolean isCounted = resource.stats().isPresent();
        return new ShrinkReport(
                report.bytesReleased() + released,
                report.regionsReleased(),
                isCounted ? report.bytesHeld() : bytesHeld(),
                report.regionsInUse(),
                report.regionsKept(),
                isCounted ? report.held() : List.of());
    }

    private long bytesHeld() {
        return resource.stats().orElseGet(ledger::stats).bytesHeld();
    }

    /**
     * Ends this allocator: every later call but this one throws. Live allocations stay live in the resource. What is
     * unreturned is deallocated again; another call tries the rest.
     *
     * @throws DeviceException if something is left; it names the bytes, and the allocator is closed
     */
    @Override
    public void close() {
        isClosed = true;
        ledger.returnAgain();
        final long left = ledger.unreturnedBytes();
        if (left > 0) {
            throw new DeviceException(
                    resource + " has not taken back " + left + " bytes; another close deallocates them again", null);
        }
    }

    private void requireOpen() {
        if (isClosed) {
            throw new AllocatorClosedException("allocator over " + resource + " is closed");
        }
    }

    @Override
    public String toString() {
        return "allocator over " + resource;
    }
}
