package allocator.cuda.memory;

import allocator.cuda.memory.check.StreamChecks;
import allocator.provider.support.AllocatorWrapper;
import allocator.spi.AllocatorOptions;
import allocator.spi.ShrinkReport;
import allocator.spi.StreamHazardException;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * An allocator with {@code arena.check_streams}: it reports its blocks to the {@link StreamChecks} of its driver, and
 * rejects frees of blocks in use with {@link StreamHazardException}.
 */
final class CheckedAllocator extends AllocatorWrapper implements CudaAllocator {
    private final CudaAllocator target;
    private final StreamChecks checks;
    private final StreamChecks.Owner owner;
    private final AllocatorOptions effectiveOptions;

    private CheckedAllocator(CudaAllocator target, CudaDevice device, AllocatorOptions options) {
        super(target);
        this.target = target;
        owner = new StreamChecks.Owner(
                this,
                "gpu:" + device.ordinal(),
                isOrderedByDevice(),
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
            final CudaAllocator checked = new CheckedAllocator(target, device, options);
            isWrapped = true;
            return checked;
        } finally {
            if (!isWrapped) {
                target.destroy();
            }
        }
    }

    @Override
    public long alloc(long byteSize) {
        return allocated(target.alloc(byteSize), byteSize, null);
    }

    @Override
    public long reserve(long byteSize) {
        return allocated(target.reserve(byteSize), byteSize, null);
    }

    /** Records an allocation, or undoes it. */
    private long allocated(long address, long byteSize, @Nullable SyncStream stream) {
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
    public void free(long address) {
        if (!checks.beginFree(address)) {
            target.free(address);
            return;
        }
        boolean isFreed = false;
        try {
            target.free(address);
            isFreed = true;
        } finally {
            if (isFreed) {
                checks.endFree();
            } else {
                checks.cancelFree(owner, address);
            }
        }
    }

    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        if (stream instanceof CudaSyncStream cudaStream) {
            cudaStream.usedBy(this);
        }
        return allocated(streamAware().allocOnStream(byteSize, stream), byteSize, stream);
    }

    /**
     * {@inheritDoc}
     *
     * <p>What a pool gives back, the driver decides; of an arena, {@link DirectMemory} sees what goes back.
     */
    @Override
    public ShrinkReport shrink() {
        try {
            return super.shrink();
        } finally {
            if (owner.isOrderedByDevice()) {
                checks.returned(owner, false);
            }
        }
    }

    @Override
    public void endRun(SyncStream stream) {
        target.endRun(stream);
    }

    @Override
    public void releaseStream(SyncStream stream) {
        target.releaseStream(stream);
    }

    @Override
    public boolean isClosed() {
        return target.isClosed();
    }

    @Override
    public void destroy() {
        try {
            target.destroy();
        } finally {
            checks.returned(owner, true);
        }
    }

    @Override
    public AllocatorOptions effectiveOptions() {
        return effectiveOptions;
    }

    @Override
    public String toString() {
        return target + ", checked";
    }
}
