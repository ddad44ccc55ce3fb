package exam.pulse;

import allocator.spi.DataTransfer;
import allocator.spi.DeviceType;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryRange;
import allocator.spi.SyncStream;
import allocator.spi.UnsupportedMemoryException;

/** Copies among the memories of one card, pinned memory included, and between them and the host. */
final class PulseTransfer implements DataTransfer {
    private final Factory factory;

    PulseTransfer(Factory factory) {
        this.factory = factory;
    }

    @Override
    public boolean canCopy(MemoryInfo source, MemoryInfo target) {
        if (isHost(source) || isHost(target)) {
            return factory.isListed(isHost(source) ? target : source);
        }
        return factory.isListed(source)
                && factory.isListed(target)
                && source.deviceOrdinal() == target.deviceOrdinal();
    }

    private static boolean isHost(MemoryInfo info) {
        return info.deviceType() == DeviceType.CPU;
    }

    @Override
    public void copy(MemoryRange source, MemoryRange target, SyncStream stream) {
        if (!canCopy(source.memory(), target.memory())) {
            throw new UnsupportedMemoryException("no copy from " + source.memory() + " to " + target.memory());
        }
        if (source.byteSize() != target.byteSize()) {
            throw new InvalidSizeException(
                    target.byteSize(), "of the target is not that of the source, " + source.byteSize());
        }
        final boolean fromHost = isHost(source.memory());
        final boolean toHost = isHost(target.memory());
        final int ordinal = (fromHost ? target : source).memory().deviceOrdinal();
        final PulseStream queue = stream == null ? null : factory.requireStream(stream, ordinal);
        if (source.byteSize() == 0) {
            return;
        }
        final Driver driver = Driver.of(ordinal);
        final long from = source.address();
        final long to = target.address();
        final long byteSize = source.byteSize();
        if (queue == null) {
            driver.copy(from, fromHost, to, toHost, byteSize);
        } else {
            queue.submit(() -> driver.copy(from, fromHost, to, toHost, byteSize));
        }
    }
}
