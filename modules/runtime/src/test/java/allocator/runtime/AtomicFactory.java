package allocator.runtime;

import allocator.spi.DataTransfer;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryRange;
import allocator.spi.SyncStream;
import allocator.testkit.FakeFactory;
import allocator.testkit.ForwardingFactory;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A provider whose copies do nothing at all. */
class AtomicFactory extends ForwardingFactory {
    private static final Optional<DataTransfer> COPIES = Optional.of(new DataTransfer() {
        @Override
        public boolean canCopy(MemoryInfo source, MemoryInfo target) {
            return true;
        }

        @Override
        public void copy(MemoryRange source, MemoryRange target, @Nullable SyncStream stream) {}
    });

    AtomicFactory(FakeFactory factory) {
        super(factory);
    }

    @Override
    public Optional<DataTransfer> dataTransfer() {
        return COPIES;
    }
}
