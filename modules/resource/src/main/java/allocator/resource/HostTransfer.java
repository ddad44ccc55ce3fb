package allocator.resource;

import allocator.spi.DataTransfer;
import allocator.spi.DeviceType;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryRange;
import allocator.spi.MemoryType;
import allocator.spi.SyncStream;
import allocator.spi.UnsupportedMemoryException;
import org.jspecify.annotations.Nullable;

/** Copies by the host, at once; with a stream, after the stream has done its work. */
enum HostTransfer implements DataTransfer {
    /** The only one. */
    INSTANCE;

    @Override
    public boolean canCopy(MemoryInfo source, MemoryInfo target) {
        return isReachable(source) && isReachable(target);
    }

    private static boolean isReachable(MemoryInfo memory) {
        return memory.deviceType() == DeviceType.CPU || memory.memoryType() == MemoryType.HOST_ACCESSIBLE;
    }

    @Override
    public void copy(MemoryRange source, MemoryRange target, @Nullable SyncStream stream) {
        if (!canCopy(source.memory(), target.memory())) {
            throw new UnsupportedMemoryException("the host cannot copy from " + source.memory() + " to "
                    + target.memory() + "; pass the transfer of the device");
        }
        if (source.byteSize() != target.byteSize()) {
            throw new InvalidSizeException(
                    target.byteSize(), "of the target is not the " + source.byteSize() + " of the source");
        }
        if (stream != null) {
            stream.flush();
        }
        HostMemory.segment(target.address(), target.byteSize())
                .copyFrom(HostMemory.segment(source.address(), source.byteSize()));
    }
}
