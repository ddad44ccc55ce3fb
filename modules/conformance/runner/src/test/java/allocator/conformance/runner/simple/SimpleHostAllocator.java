package allocator.conformance.runner.simple;

import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.ForeignAddressException;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.MemoryInfo;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;

/** An allocator whose memory the host can access. */
final class SimpleHostAllocator extends SimpleAllocator implements HostAccessibleAllocator {
    private static final long SHADOW = 1 << 16;

    private final Fault fault;
    private final Map<Long, MemorySegment> shadows = new ConcurrentHashMap<>();

    SimpleHostAllocator(SimpleFactory factory, MemoryInfo info, AllocatorOptions options) {
        super(factory, info, options);
        fault = factory.fault();
    }

    @Override
    public MemorySegment segment(long address, long byteSize) {
        if (isClosed() && fault != Fault.SEGMENT_AFTER_CLOSE) {
            throw new AllocatorClosedException("the allocator is closed");
        }
        if (fault == Fault.SEGMENT_OF_ANY_SIZE && (byteSize < 0 || address == 0)) {
            return MemorySegment.NULL;
        }
        Objects.checkIndex(0, byteSize + 1);
        if (address == 0 && byteSize > 0) {
            throw new ForeignAddressException(address, "the empty allocation has no bytes");
        }
        if (fault == Fault.DEVICE_MEMORY_AS_SEGMENT && byteSize > 0 && byteSize <= SHADOW) {
            // What the host sees at an address of the device is something else.
            return SimpleDevice.see(
                    shadows.computeIfAbsent(address, _ -> Arena.global().allocate(SHADOW))
                            .address(),
                    byteSize);
        }
        return SimpleDevice.see(
                address, fault == Fault.SEGMENT_OF_ROUNDED_SIZE ? (byteSize + 255) / 256 * 256 : byteSize);
    }
}
