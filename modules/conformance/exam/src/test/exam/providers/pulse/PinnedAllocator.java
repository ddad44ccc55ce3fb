package exam.pulse;

import allocator.spi.AllocatorOptions;
import allocator.spi.ForeignAddressException;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import java.lang.foreign.MemorySegment;

/** Serves pinned memory, which the host reaches too. */
final class PinnedAllocator extends PulseAllocator implements HostAccessibleAllocator {
    PinnedAllocator(Factory factory, MemoryInfo info, Driver driver, AllocatorOptions effective) {
        super(factory, info, driver, effective);
    }

    @Override
    public synchronized MemorySegment segment(long address, long byteSize) {
        requireOpen();
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        if (address == 0 && byteSize == 0) {
            return MemorySegment.NULL;
        }
        if (address == 0) {
            throw new InvalidSizeException(byteSize, "exceeds the empty allocation");
        }
        final Block block = live(address);
        if (block == null) {
            throw new ForeignAddressException(address, "no live block of " + info() + " to show");
        }
        if (byteSize > block.requested) {
            throw new InvalidSizeException(byteSize, "exceeds the block of " + block.requested + " bytes");
        }
        return driver().resolve(address, byteSize);
    }
}
