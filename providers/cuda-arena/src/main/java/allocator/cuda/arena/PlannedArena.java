package allocator.cuda.arena;

import allocator.arena.plan.ArenaPlans;
import allocator.arena.plan.PlannedAllocator;
import allocator.cuda.memory.CudaAllocator;
import allocator.cuda.memory.CudaDevice;
import allocator.cuda.memory.CudaSyncStream;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;

/**
 * Device memory that follows plans, over an arena or a pool of the driver.
 *
 * @param <A> type of what it is over
 */
final class PlannedArena<A extends CudaAllocator & StreamAwareAllocator> extends PlannedAllocator
        implements CudaAllocator {
    private final CudaDevice device;
    private final A wrapped;

    private PlannedArena(CudaDevice device, A wrapped, ArenaPlans plans) {
        super(wrapped, plans);
        this.device = device;
        this.wrapped = wrapped;
    }

    /** Returns memory that follows plans, or the given memory if there are none. */
    static <A extends CudaAllocator & StreamAwareAllocator> CudaAllocator over(
            CudaDevice device, A wrapped, ArenaPlans plans) {
        try {
            return plans.isEmpty() ? wrapped : new PlannedArena<>(device, wrapped, plans);
        } catch (Throwable e) { // the end of the Java heap
            wrapped.destroy();
            throw e;
        }
    }

    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        if (!(stream instanceof CudaSyncStream cudaStream)
                || cudaStream.device().ordinal() != device.ordinal()
                || cudaStream.isClosed()) {
            return wrapped.allocOnStream(byteSize, stream); // rejects it
        }
        cudaStream.usedBy(this);
        return super.allocOnStream(byteSize, stream);
    }

    @Override
    public boolean isClosed() {
        return wrapped.isClosed();
    }

    @Override
    public void destroy() {
        try {
            close();
        } finally {
            wrapped.destroy();
        }
    }

    @Override
    public String toString() {
        return wrapped + " with plans";
    }
}
