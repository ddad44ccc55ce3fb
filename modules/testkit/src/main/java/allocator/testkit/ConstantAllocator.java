package allocator.testkit;

import allocator.spi.Allocator;
import allocator.spi.MemoryInfo;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;

/**
 * An allocator that returns one address for every request and creates no Java objects, so that a test can measure those
 * of the code above it.
 */
public class ConstantAllocator implements Allocator {
    /** What every allocation returns. */
    public static final long ADDRESS = 4096;

    private final MemoryInfo info;

    public ConstantAllocator(MemoryInfo info) {
        this.info = info;
    }

    @Override
    public final long alloc(long byteSize) {
        return ADDRESS;
    }

    @Override
    public final void free(long address) {}

    @Override
    public final MemoryInfo info() {
        return info;
    }

    @Override
    public final int spiLevel() {
        return SpiLevel.CURRENT;
    }

    /** A {@code ConstantAllocator} that is aware of streams. */
    public static final class StreamAware extends ConstantAllocator implements StreamAwareAllocator {
        public StreamAware(MemoryInfo info) {
            super(info);
        }

        @Override
        public long allocOnStream(long byteSize, SyncStream stream) {
            return ADDRESS;
        }
    }
}
