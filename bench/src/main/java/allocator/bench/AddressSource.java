package allocator.bench;

import allocator.spi.Allocator;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.SpiLevel;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/** An upstream without memory: addresses that rise. */
public final class AddressSource implements Allocator {
    private final MemoryInfo info = new MemoryInfo(
            "Addresses", new MemoryLocation(DeviceType.GPU, 0, 0, MemoryType.DEFAULT), 256, AllocatorType.DEVICE);
    private final AtomicLong next = new AtomicLong(1L << 40);
    private final LongAdder calls = new LongAdder();

    @Override
    public long alloc(long byteSize) {
        calls.increment();
        return next.getAndAdd((byteSize + 511) & -256);
    }

    @Override
    public void free(long address) {
        calls.increment();
    }

    /** How often memory was taken or given back. */
    public long calls() {
        return calls.sum();
    }

    @Override
    public MemoryInfo info() {
        return info;
    }

    @Override
    public int spiLevel() {
        return SpiLevel.CURRENT;
    }
}
