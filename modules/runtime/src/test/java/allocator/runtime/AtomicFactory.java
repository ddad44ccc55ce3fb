package allocator.runtime;

import allocator.provider.support.StackReserve;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DataTransfer;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryRange;
import allocator.spi.SyncStream;
import allocator.testkit.FakeFactory;
import allocator.testkit.ForwardingFactory;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A provider whose calls fail where the stack ends before they do anything. Its copies do nothing at all. */
class AtomicFactory extends ForwardingFactory {
    private static final Optional<DataTransfer> COPIES = Optional.of(new DataTransfer() {
        @Override
        public boolean canCopy(MemoryInfo source, MemoryInfo target) {
            return true;
        }

        @Override
        public void copy(MemoryRange source, MemoryRange target, @Nullable SyncStream stream) {
            StackReserve.touch();
        }
    });

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
    public Optional<DataTransfer> dataTransfer() {
        return COPIES;
    }

    @Override
    public void close() {
        StackReserve.touch();
        super.close();
    }
}
