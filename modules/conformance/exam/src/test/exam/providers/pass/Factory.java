package exam.pass;

import allocator.provider.support.internal.Copies;
import allocator.provider.support.internal.Endings;
import allocator.provider.support.Limit;
import allocator.provider.support.References;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorType;
import allocator.spi.DataTransfer;
import allocator.spi.DeviceDiscovery;
import allocator.spi.DeviceType;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.HardwareDevice;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryRange;
import allocator.spi.MemoryType;
import allocator.spi.OptionKey;
import allocator.spi.SyncStream;
import allocator.spi.UnknownAllocatorException;
import allocator.spi.UnsupportedMemoryException;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * Serves the heap of the C library: one allocator that users share, exclusive ones for those who ask, and one for each
 * user of read-only memory.
 */
public final class Factory implements EpFactory {
    private static final MemoryLocation LOCATION = new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT);
    private static final MemoryInfo HEAP = new MemoryInfo("ExamPass", LOCATION, 64, AllocatorType.DEVICE);
    private static final MemoryInfo CONSTANTS =
            new MemoryInfo("ExamPassConstants", LOCATION, 256, AllocatorType.READ_ONLY);
    private static final List<OptionKey<?>> KEYS = List.of(Limit.KEY, OptionKey.EXCLUSIVE);

    private final DeviceDiscovery discovery = DeviceDiscovery.of(
            EpDevice.on(new HardwareDevice(DeviceType.CPU, 0, 0, "host processor", Map.of()))
                    .memory(HEAP)
                    .memory(CONSTANTS)
                    .build());
    private final References<PassAllocator> references = new References<>();
    private final Endings endings = new Endings();
    private final Transfer transfer = new Transfer();
    private boolean isClosed;

    /** Makes the factory, which touches nothing. */
    public Factory() {}

    @Override
    public String name() {
        return "exam-pass";
    }

    @Override
    public String vendor() {
        return "Exam";
    }

    @Override
    public String version() {
        return "1.0";
    }

    @Override
    public DeviceDiscovery discoverDevices() {
        return discovery;
    }

    @Override
    public List<OptionKey<?>> optionKeys() {
        return KEYS;
    }

    @Override
    public synchronized Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        Objects.requireNonNull(info, "info");
        Objects.requireNonNull(options, "options");
        if (isClosed) {
            throw new AllocatorClosedException(name() + " is closed");
        }
        if (!info.equals(HEAP) && !info.equals(CONSTANTS)) {
            throw new UnsupportedMemoryException(name() + " does not serve " + info);
        }
        options.requireValid(KEYS);
        return info.isReadOnly() || options.get(OptionKey.EXCLUSIVE)
                ? references.acquireExclusive(() -> new PassAllocator(info, options, KEYS))
                : references.acquireShared(info.location(), () -> new PassAllocator(info, options, KEYS));
    }

    @Override
    public synchronized void releaseAllocator(Allocator allocator) {
        Objects.requireNonNull(allocator, "allocator");
        final Endings.End end = allocator instanceof PassAllocator mine ? endings.of(mine, mine::close) : null;
        switch (references.release(allocator)) {
            case UNKNOWN -> {
                if (!endings.runAgain(allocator)) {
                    throw new UnknownAllocatorException("not an open allocator of " + name() + ": " + allocator);
                }
            }
            case LAST -> {
                if (end != null) {
                    end.run();
                }
            }
            case STILL_USED -> {
                // Its other users keep it open.
            }
        }
    }

    @Override
    public Optional<DataTransfer> dataTransfer() {
        return Optional.of(transfer);
    }

    @Override
    public synchronized void close() {
        if (references.count() != 0) {
            throw new IllegalStateException(name() + " has " + references.count() + " open allocators");
        }
        isClosed = true;
        endings.runAgain();
    }

    /** Copies within the host. The caller's thread copies, behind the work of the stream if there is one. */
    private static final class Transfer implements DataTransfer {
        @Override
        public boolean canCopy(MemoryInfo source, MemoryInfo target) {
            return HEAP.isSameMemoryAs(source) && HEAP.isSameMemoryAs(target);
        }

        @Override
        public void copy(MemoryRange source, MemoryRange target, SyncStream stream) {
            Objects.requireNonNull(source, "source");
            Objects.requireNonNull(target, "target");
            Copies.requireValid(this, source, target);
            if (stream != null) {
                stream.flush();
            }
            Heap.segment(target.address(), target.byteSize())
                    .copyFrom(Heap.segment(source.address(), source.byteSize()));
        }
    }
}
