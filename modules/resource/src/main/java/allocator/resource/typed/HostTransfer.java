package allocator.resource.typed;

import allocator.resource.base.NativeMemory;
import allocator.spi.DataTransfer;
import allocator.spi.DeviceType;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryRange;
import allocator.spi.MemoryType;
import allocator.spi.SyncStream;
import allocator.spi.UnsupportedMemoryException;
import org.jspecify.annotations.Nullable;

/** Copies on the host, synchronously. With a stream, it first waits for the stream to complete its work. */
enum HostTransfer implements DataTransfer {
    /** The only instance. */
    INSTANCE;

    @Override
    public boolean canCopy(MemoryInfo source, MemoryInfo target) {
        return isHostAccessible(source) && isHostAccessible(target);
    }

    private static boolean isHostAccessible(MemoryInfo memory) {
        return memory.deviceType() == DeviceType.CPU || memory.memoryType() == MemoryType.HOST_ACCESSIBLE;
    }

    @Override
    public void copy(MemoryRange source, MemoryRange target, @Nullable SyncStream stream) {
        if (!canCopy(source.memory(), target.memory())) {
            throw new UnsupportedMemoryException("the host cannot copy from " + source.memory() + " to "
                    + target.memory() + "; pass a transfer of the device");
        }
        if (source.byteSize() != target.byteSize()) {
            throw new InvalidSizeException(
                    target.byteSize(), "of the target is not the " + source.byteSize() + " of the source");
        }
        if (stream != null) {
            stream.flush();
        }
        NativeMemory.segment(target.address(), target.byteSize())
                .copyFrom(NativeMemory.segment(source.address(), source.byteSize()));
    }
}
