package allocator.conformance.runner.simple;

import allocator.conformance.subject.Contents;
import allocator.spi.DataTransfer;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryRange;
import allocator.spi.SyncStream;
import allocator.spi.UnsupportedMemoryException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Copies between the memories of a device and the host.
 *
 * @param device the device
 * @param fault the fault of the provider
 * @param memories the memories of the device
 */
record SimpleTransfer(SimpleDevice device, Fault fault, List<MemoryInfo> memories) implements DataTransfer {
    @Override
    public boolean canCopy(MemoryInfo source, MemoryInfo target) {
        return isKnown(source) && isKnown(target);
    }

    private boolean isKnown(MemoryInfo info) {
        return memories.stream().anyMatch(info::isSameMemoryAs) || info.isSameMemoryAs(Contents.HOST);
    }

    @Override
    public void copy(MemoryRange source, MemoryRange target, @Nullable SyncStream stream) {
        if (!canCopy(source.memory(), target.memory())) {
            throw new UnsupportedMemoryException("cannot copy");
        }
        if (source.byteSize() != target.byteSize() && fault != Fault.COPY_TRUNCATES) {
            throw new InvalidSizeException(source.byteSize(), "is not the target's size");
        }
        final long byteSize = Math.min(source.byteSize(), target.byteSize());
        if (byteSize == 0) {
            return;
        }
        device.call();
        final Runnable work =
                () -> device.copy(source.address(), target.address(), byteSize, source.memory(), target.memory());
        final boolean overtakes = fault == Fault.COPY_OVERTAKES_ITS_STREAM
                && !source.memory().equals(Contents.HOST)
                && !target.memory().equals(Contents.HOST);
        if (stream != null && !overtakes) {
            ((SimpleStream) stream).submit(work);
        } else if (stream == null && fault == Fault.COPY_RETURNS_EARLY && device.isLagging()) {
            Thread.ofVirtual().start(() -> {});
        } else {
            work.run();
        }
    }
}
