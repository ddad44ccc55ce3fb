package allocator.bench;

import allocator.spi.Allocator;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.SpiLevel;
import java.util.concurrent.atomic.AtomicLong;

/** An upstream without memory: addresses that rise. */
public final class AddressSource implements Allocator {
    private final MemoryInfo info = new MemoryInfo(
            "Addresses", new MemoryLocation(DeviceType.GPU, 0, 0, MemoryType.DEFAULT), 256, AllocatorType.DEVICE);
    private final AtomicLong next = new AtomicLong(1L << 40);

    @Override
    public long alloc(long byteSize) {
        return next.getAndAdd((byteSize + 511) & -256);
    }

    @Override
    public void free(long address) {}

    @Override
    public MemoryInfo info() {
        return info;
    }

    @Override
    public int spiLevel() {
        return SpiLevel.CURRENT;
    }
}
