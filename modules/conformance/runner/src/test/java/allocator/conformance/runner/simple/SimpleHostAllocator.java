package allocator.conformance.runner.simple;

import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import java.lang.foreign.MemorySegment;

/** An allocator whose memory the host can access. */
final class SimpleHostAllocator extends SimpleAllocator implements HostAccessibleAllocator {
    private final Fault fault;

    SimpleHostAllocator(SimpleFactory factory, MemoryInfo info, AllocatorOptions options) {
        super(factory, info, options);
        fault = factory.fault();
    }

    @Override
    public MemorySegment segment(long address, long byteSize) {
        if (isClosed() && fault != Fault.SEGMENT_AFTER_CLOSE) {
            throw new AllocatorClosedException("the allocator is closed");
        }
        if (byteSize < 0 || (address == 0 && byteSize > 0)) {
            throw new InvalidSizeException(byteSize, "is not the size of a segment there");
        }
        return SimpleDevice.see(
                address, fault == Fault.SEGMENT_OF_ROUNDED_SIZE ? (byteSize + 255) / 256 * 256 : byteSize);
    }
}
