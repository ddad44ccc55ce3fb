package allocator.cuda.memory;

import allocator.cuda.driver.HostSegments;
import allocator.spi.AllocatorOptions;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InvalidSizeException;
import allocator.spi.OptionKey;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * Page-locked host memory, each block from {@code cuMemHostAlloc}: pinned for every device, and accessible to every
 * device at its address.
 */
public final class PinnedMemory extends DirectMemory implements HostAccessibleAllocator {
    private final AllocatorOptions effectiveOptions;

    /**
     * Creates an allocator to which no settings apply, such as one beneath an arena; takes no memory yet.
     *
     * @param device the device, with a context
     */
    public PinnedMemory(CudaDevice device) {
        this(device, List.of(), AllocatorOptions.EMPTY);
    }

    /**
     * Creates an allocator that users share unless {@link OptionKey#EXCLUSIVE} is set, the only setting that applies to
     * it; takes no memory yet.
     *
     * @param device the device, with a context
     * @param options the user's settings
     */
    public PinnedMemory(CudaDevice device, AllocatorOptions options) {
        this(device, List.of(OptionKey.EXCLUSIVE), options);
    }

    private PinnedMemory(CudaDevice device, List<OptionKey<?>> keys, AllocatorOptions options) {
        super(device, device.pinnedMemory());
        effectiveOptions = options.resolve(keys);
    }

    @Override
    public AllocatorOptions effectiveOptions() {
        return effectiveOptions;
    }

    @Override
    long take(long byteSize) {
        return device().driver().memory().memHostAlloc(device().ordinal(), byteSize, true);
    }

    @Override
    void giveBack(long address) {
        device().driver().memory().memFreeHost(device().ordinal(), address);
    }

    @Override
    public MemorySegment segment(long address, long byteSize) {
        requireOpen();
        return segmentAt(address, byteSize);
    }

    /**
     * {@return a view of pinned memory, as {@link HostAccessibleAllocator#segment} says}
     *
     * @param address first byte, {@code 0} for the empty allocation
     * @param byteSize size in bytes
     * @throws InvalidSizeException if the size is negative, or not zero for the empty allocation
     */
    public static MemorySegment segmentAt(long address, long byteSize) {
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        if (address == 0 && byteSize > 0) {
            throw new InvalidSizeException(byteSize, "is not zero, but the empty allocation has no bytes");
        }
        return address == 0 ? MemorySegment.NULL : HostSegments.at(address, byteSize);
    }
}
