package allocator.runtime;

import allocator.provider.support.StackReserve;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.MemoryInfo;
import allocator.spi.SyncStream;
import allocator.testkit.FakeFactory;
import allocator.testkit.ForwardingFactory;

/** A provider whose calls fail where the stack ends before they do anything. */
class AtomicFactory extends ForwardingFactory {
    AtomicFactory(FakeFactory factory) {
        super(factory);
    }

    @Override
    public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        StackReserve.touch();
        return super.createAllocator(info, options);
    }

    @Override
    public void releaseAllocator(Allocator allocator) {
        StackReserve.touch();
        super.releaseAllocator(allocator);
    }

    @Override
    public SyncStream createSyncStream(MemoryInfo info) {
        StackReserve.touch();
        return super.createSyncStream(info);
    }

    @Override
    public void close() {
        StackReserve.touch();
        super.close();
    }
}
