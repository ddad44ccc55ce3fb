package allocator.onnxruntime.ep;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.MemoryInfo;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;

/** An allocator that passes every call on to another one, for subclasses that change some of them. */
class Forwarding implements Allocator {
    private final Allocator target;

    Forwarding(Allocator target) {
        this.target = target;
    }

    Allocator target() {
        return target;
    }

    @Override
    public long alloc(long byteSize) {
        return target.alloc(byteSize);
    }

    @Override
    public long reserve(long byteSize) {
        return target.reserve(byteSize);
    }

    @Override
    public void free(long address) {
        target.free(address);
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

    /** One whose target can shrink. */
    static class Arena extends Forwarding implements ShrinkableAllocator {
        Arena(Allocator target) {
            super(target);
        }

        @Override
        public ShrinkReport shrink() {
            return ((ShrinkableAllocator) target()).shrink();
        }
    }
}
