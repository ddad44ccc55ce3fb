package allocator.cuda.memory;

import allocator.cuda.memory.check.StreamChecks;
import allocator.provider.support.StackReserve;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.MemoryInfo;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.StreamHazardException;
import allocator.spi.SyncStream;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * An allocator with {@code arena.check_streams}: it reports its blocks to the {@link StreamChecks} of its driver, and
 * rejects frees of blocks in use with {@link StreamHazardException}. It has the capabilities of the one below it.
 */
class CheckedAllocator implements CudaAllocator {
    private final CudaAllocator target;
    private final StreamChecks checks;
    private final StreamChecks.Owner owner;
    private final AllocatorOptions effectiveOptions;

    private CheckedAllocator(CudaAllocator target, CudaDevice device, AllocatorOptions options) {
        this.target = target;
        owner = new StreamChecks.Owner(
                this,
                "gpu:" + device.ordinal(),
                target instanceof StreamAwareAllocator aware && aware.isOrderedByDevice(),
                target instanceof DriverPool pool && pool.returnsOnWait());
        effectiveOptions =
                target.effectiveOptions().with(StreamChecks.KEY.name(), "1", options.origin(StreamChecks.KEY.name()));
        checks = device.checks();
        checks.start();
    }

    /** Wraps an allocator, and destroys it if that fails. */
    static CudaAllocator of(CudaAllocator target, CudaDevice device, AllocatorOptions options) {
        boolean isWrapped = false;
        try {
            final CudaAllocator checked;
            if (target instanceof StreamAwareAllocator aware && target instanceof ShrinkableAllocator shrinkable) {
                checked = new OfStreams(target, aware, shrinkable, device, options);
            } else if (target instanceof HostAccessibleAllocator host) {
                checked = target instanceof ShrinkableAllocator shrinkable
                        ? new OfPinnedArena(target, host, shrinkable, device, options)
                        : new OfPinnedMemory(target, host, device, options);
            } else {
                checked = new CheckedAllocator(target, device, options);
            }
            isWrapped = true;
            return checked;
        } finally {
            if (!isWrapped) {
                target.destroy();
            }
        }
    }

    @Override
    public final long alloc(long byteSize) {
        StackReserve.touch();
        return allocated(target.alloc(byteSize), byteSize, null);
    }

    @Override
    public final long reserve(long byteSize) {
        StackReserve.touch();
        return allocated(target.reserve(byteSize), byteSize, null);
    }

    /** Records an allocation, or undoes it. */
    final long allocated(long address, long byteSize, @Nullable SyncStream stream) {
        if (address == 0) {
            return 0;
        }
        boolean isRecorded = false;
        try {
            checks.allocated(owner, address, byteSize, stream);
            isRecorded = true;
        } finally {
            if (!isRecorded) {
                target.free(address);
            }
        }
        return address;
    }

    @Override
    public final void free(long address) {
        StackReserve.touch();
        if (!checks.beginFree(address)) {
            target.free(address);
            return;
        }
        boolean isFreed = false;
        try {
            target.free(address);
            isFreed = true;
        } catch (DeviceException e) {
            isFreed = true; // the block is dead nevertheless
            throw e;
        } finally {
            if (!isFreed) {
                checks.cancelFree(owner, address);
            } else {
                checks.endFree();
            }
        }
    }

    /** What a pool gives back, the driver decides; of an arena, {@link DirectMemory} sees what goes back. */
    final ShrinkReport shrink(ShrinkableAllocator shrinkable) {
        try {
            return shrinkable.shrink();
        } finally {
            if (owner.isOrderedByDevice()) {
                checks.returned(owner, false);
            }
        }
    }

    final void endsWith(CudaSyncStream stream) {
        stream.usedBy(this);
    }

    @Override
    public final void endRun(SyncStream stream) {
        target.endRun(stream);
    }

    @Override
    public final void releaseStream(SyncStream stream) {
        target.releaseStream(stream);
    }

    @Override
    public final boolean isClosed() {
        return target.isClosed();
    }

    @Override
    public final void destroy() {
        try {
            target.destroy();
        } finally {
            checks.returned(owner, true);
        }
    }

    @Override
    public final MemoryInfo info() {
        return target.info();
    }

    @Override
    public final int spiLevel() {
        return target.spiLevel();
    }

    @Override
    public final AllocatorStats stats() {
        return target.stats();
    }

    @Override
    public final AllocatorSnapshot inspect() {
        return target.inspect();
    }

    @Override
    public final AllocatorOptions effectiveOptions() {
        return effectiveOptions;
    }

    @Override
    public final String toString() {
        return target + ", checked";
    }

    /** An arena or a pool of device memory. */
    private static final class OfStreams extends CheckedAllocator implements StreamAwareAllocator, ShrinkableAllocator {
        private final StreamAwareAllocator aware;
        private final ShrinkableAllocator shrinkable;

        OfStreams(
                CudaAllocator target,
                StreamAwareAllocator aware,
                ShrinkableAllocator shrinkable,
                CudaDevice device,
                AllocatorOptions options) {
            super(target, device, options);
            this.aware = aware;
            this.shrinkable = shrinkable;
        }

        @Override
        public long allocOnStream(long byteSize, SyncStream stream) {
            StackReserve.touch();
            if (stream instanceof CudaSyncStream cudaStream) {
                endsWith(cudaStream);
            }
            return allocated(aware.allocOnStream(byteSize, stream), byteSize, stream);
        }

        @Override
        public boolean isOrderedByDevice() {
            return aware.isOrderedByDevice();
        }

        @Override
        public ShrinkReport shrink() {
            return shrink(shrinkable);
        }
    }

    /** Pinned memory, block by block. */
    private static final class OfPinnedMemory extends CheckedAllocator implements HostAccessibleAllocator {
        private final HostAccessibleAllocator host;

        OfPinnedMemory(
                CudaAllocator target, HostAccessibleAllocator host, CudaDevice device, AllocatorOptions options) {
            super(target, device, options);
            this.host = host;
        }

        @Override
        public MemorySegment segment(long address, long byteSize) {
            return host.segment(address, byteSize);
        }
    }

    /** An arena of pinned memory. */
    private static final class OfPinnedArena extends CheckedAllocator
            implements HostAccessibleAllocator, ShrinkableAllocator {
        private final HostAccessibleAllocator host;
        private final ShrinkableAllocator shrinkable;

        OfPinnedArena(
                CudaAllocator target,
                HostAccessibleAllocator host,
                ShrinkableAllocator shrinkable,
                CudaDevice device,
                AllocatorOptions options) {
            super(target, device, options);
            this.host = host;
            this.shrinkable = shrinkable;
        }

        @Override
        public MemorySegment segment(long address, long byteSize) {
            return host.segment(address, byteSize);
        }

        @Override
        public ShrinkReport shrink() {
            return shrink(shrinkable);
        }
    }
}
