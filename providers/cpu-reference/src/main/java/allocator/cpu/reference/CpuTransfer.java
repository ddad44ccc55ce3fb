package allocator.cpu.reference;

import allocator.spi.DataTransfer;
import allocator.spi.DeviceType;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryRange;
import allocator.spi.SyncStream;
import allocator.spi.UnsupportedMemoryException;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** Copies within host memory, at once: work on a {@link CpuStream} is done when its call returns. */
enum CpuTransfer implements DataTransfer {
    /** The only one. */
    INSTANCE;

    @Override
    public boolean canCopy(MemoryInfo source, MemoryInfo target) {
        return source.deviceType() == DeviceType.CPU && target.deviceType() == DeviceType.CPU;
    }

    @Override
    public void copy(MemoryRange source, MemoryRange target, @Nullable SyncStream stream) {
        if (!canCopy(source.memory(), target.memory())) {
            throw new UnsupportedMemoryException("cannot copy from " + source.memory() + " to " + target.memory());
        }
        if (source.byteSize() != target.byteSize()) {
            throw new InvalidSizeException(
                    target.byteSize(), "of the target is not the " + source.byteSize() + " of the source");
        }
        final MemorySegment from = HostMemory.segment(source.address(), source.byteSize());
        HostMemory.segment(target.address(), target.byteSize()).copyFrom(from);
    }
}
