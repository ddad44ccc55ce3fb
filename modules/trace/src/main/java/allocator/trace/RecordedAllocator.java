package allocator.trace;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InspectableAllocator;
import allocator.spi.InvalidFreeException;
import allocator.spi.MemoryInfo;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * An allocator whose allocations and frees a {@link Recorder} records. It has the capabilities of the wrapped allocator
 * ({@link #as}).
 */
final class RecordedAllocator implements StreamAwareAllocator, ShrinkableAllocator, HostAccessibleAllocator {
    private final Recorder recorder;
    private final Allocator target;

    /** The slot of each live block by its address; guarded by the recorder's lock. */
    private final LongIntMap slots = new LongIntMap();

    private final @Nullable StreamAwareAllocator streamAware;
    private final @Nullable ShrinkableAllocator shrinkable;
    private final @Nullable HostAccessibleAllocator hostAccessible;

    RecordedAllocator(Recorder recorder, Allocator target) {
        this.recorder = recorder;
        this.target = target;
        streamAware = target.as(StreamAwareAllocator.class).orElse(null);
        shrinkable = target.as(ShrinkableAllocator.class).orElse(null);
        hostAccessible = target.as(HostAccessibleAllocator.class).orElse(null);
    }

    /** Its own, of those that the target has; a listing of blocks is the target's. Nothing goes round the recorder. */
    @Override
    public <T> Optional<T> as(Class<T> capability) {
        return target.as(capability)
                .flatMap(below -> capability.isInstance(this)
                        ? Optional.of(capability.cast(this))
                        : Optional.of(below).filter(InspectableAllocator.class::isInstance));
    }

    private <T> T require(@Nullable T capability) {
        if (capability == null) {
            throw new UnsupportedOperationException(target + " does not have this capability");
        }
        return capability;
    }

    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        // Before the allocation, after which nothing may fail.
        final long streamId = stream.id();
        return allocated(require(streamAware).allocOnStream(byteSize, stream), byteSize, streamId, false);
    }

    @Override
    public boolean isOrderedByDevice() {
        return streamAware != null && streamAware.isOrderedByDevice();
    }

    @Override
    public ShrinkReport shrink() {
        return require(shrinkable).shrink();
    }

    @Override
    public MemorySegment segment(long address, long byteSize) {
        return require(hostAccessible).segment(address, byteSize);
    }

    @Override
    public long alloc(long byteSize) {
        return allocated(target.alloc(byteSize), byteSize, 0, false);
    }

    @Override
    public long reserve(long byteSize) {
        return allocated(target.reserve(byteSize), byteSize, 0, true);
    }

    private long allocated(long address, long byteSize, long streamId, boolean isReserve) {
        if (address != 0) {
            try {
                recorder.allocated(slots, address, byteSize, streamId, isReserve);
            } catch (Throwable e) {
                // The caller must learn the address, even if the heap ends here.
                recorder.failure = e;
            }
        }
        return address;
    }

    @Override
    public void free(long address) {
        Recorder.@Nullable Freed freed = null;
        try {
            freed = recorder.freeing(slots, address);
        } catch (Throwable e) {
            recorder.failure = e;
        }
        boolean isFreed = false;
        try {
            target.free(address);
            isFreed = true;
        } catch (InvalidFreeException e) {
            isFreed = true; // the recorder knew the block, and the target does not
            throw e;
        } finally {
            if (!isFreed && freed != null) {
                restore(address, freed);
            }
        }
    }

    private void restore(long address, Recorder.Freed freed) {
        try {
            recorder.restore(slots, address, freed);
        } catch (Throwable e) {
            recorder.failure = e;
        }
    }

    @Override
    public MemoryInfo info() {
        return target.info();
    }

    @Override
    public int spiLevel() {
        return target.spiLevel();
    }

    @Override
    public AllocatorStats stats() {
        return target.stats();
    }

    @Override
    public AllocatorOptions effectiveOptions() {
        return target.effectiveOptions();
    }

    @Override
    public String toString() {
        return target + ", recorded";
    }
}
