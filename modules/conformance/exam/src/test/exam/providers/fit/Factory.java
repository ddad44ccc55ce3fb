package exam.fit;

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
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryRange;
import allocator.spi.MemoryType;
import allocator.spi.OptionKey;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import allocator.spi.UnknownAllocatorException;
import allocator.spi.UnsupportedMemoryException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/** Serves two simulated graphics processors, each with memory of its own and pinned memory of the host. */
public final class Factory implements EpFactory {
    private static final int VENDOR = 0x1AF4;
    private static final int DEVICES = 2;
    private static final long CAPACITY = 6L << 30;

    private final List<MemoryInfo> infos;
    private final List<Device> memories;
    private final DeviceDiscovery discovery;
    private final Transfer transfer = new Transfer();

    /** Guarded by this, as is all that follows. Replaced on every change, so that it is read without a copy. */
    private List<FitAllocator> allocators = List.of();

    private final Set<FitStream> streams = Collections.newSetFromMap(new IdentityHashMap<>());
    private int ending;
    private volatile boolean isClosed;

    /** Makes the factory, which touches nothing. */
    public Factory() {
        final List<MemoryInfo> all = new ArrayList<>();
        final List<Device> spaces = new ArrayList<>();
        final List<EpDevice> devices = new ArrayList<>();
        for (int ordinal = 0; ordinal < DEVICES; ordinal++) {
            final MemoryInfo device = info("ExamFit", ordinal, MemoryType.DEFAULT);
            final MemoryInfo pinned = info("ExamFitPinned", ordinal, MemoryType.HOST_ACCESSIBLE);
            all.add(device);
            all.add(pinned);
            spaces.add(new Device(CAPACITY));
            spaces.add(new Device(CAPACITY));
            devices.add(EpDevice.on(new HardwareDevice(DeviceType.GPU, VENDOR, 1, "simulated processor", Map.of()))
                    .memory(device)
                    .memory(pinned)
                    .build());
        }
        infos = List.copyOf(all);
        memories = List.copyOf(spaces);
        discovery = new DeviceDiscovery(devices, List.of());
    }

    private static MemoryInfo info(String name, int ordinal, MemoryType type) {
        return new MemoryInfo(
                name, new MemoryLocation(DeviceType.GPU, VENDOR, ordinal, type), Device.GRANULE, AllocatorType.DEVICE);
    }

    @Override
    public String name() {
        return "exam-fit";
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
        return FitAllocator.KEYS;
    }

    @Override
    public synchronized Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        Objects.requireNonNull(info, "info");
        Objects.requireNonNull(options, "options");
        requireOpen();
        final int index = infos.indexOf(info);
        if (index < 0) {
            throw new UnsupportedMemoryException(name() + " does not serve " + info);
        }
        options.requireValid(FitAllocator.KEYS);
        final Device memory = memories.get(index);
        if (!memory.open()) {
            throw new OutOfMemoryException(
                    "no addresses for the device", OutOfMemoryException.Shortage.ofDevice(info, 0, 0));
        }
        final FitAllocator allocator = info.memoryType() == MemoryType.DEFAULT
                ? new FitAllocator(info, this, memory, options)
                : new FitAllocator.Pinned(info, this, memory, options);
        final List<FitAllocator> more = new ArrayList<>(allocators);
        more.add(allocator);
        allocators = more;
        return allocator;
    }

    @Override
    public void releaseAllocator(Allocator allocator) {
        Objects.requireNonNull(allocator, "allocator");
        final FitAllocator mine = remove(allocator);
        try {
            mine.close();
        } finally {
            synchronized (this) {
                ending--;
            }
        }
    }

    private synchronized FitAllocator remove(Allocator allocator) {
        final List<FitAllocator> others = new ArrayList<>(allocators);
        if (!(allocator instanceof FitAllocator mine) || !others.remove(mine)) {
            throw new UnknownAllocatorException("not an open allocator of " + name() + ": " + allocator);
        }
        allocators = others;
        ending++;
        return mine;
    }

    @Override
    public boolean isStreamAware(MemoryInfo info) {
        return isListed(info);
    }

    private boolean isListed(MemoryInfo info) {
        for (MemoryInfo listed : infos) {
            if (listed.isSameMemoryAs(info)) {
                return true;
            }
        }
        return false;
    }

    @Override
    public synchronized SyncStream createSyncStream(MemoryInfo info) {
        requireOpen();
        if (!isListed(info)) {
            throw new UnsupportedMemoryException(name() + " has no streams for " + info);
        }
        final FitStream stream = new FitStream(info, this);
        streams.add(stream);
        return stream;
    }

    /** Lets every stream use what was freed on one up to a ticket, which is done. */
    void runEnded(FitStream stream, long ticket) {
        final List<FitAllocator> all;
        synchronized (this) {
            all = allocators;
        }
        for (int i = 0; i < all.size(); i++) {
            all.get(i).unbind(stream, ticket);
        }
    }

    /** Lets every stream use what was freed on one that has ended, and forgets it. */
    void streamEnded(FitStream stream) {
        runEnded(stream, Long.MAX_VALUE);
        synchronized (this) {
            streams.remove(stream);
        }
    }

    @Override
    public Optional<DataTransfer> dataTransfer() {
        return Optional.of(transfer);
    }

    @Override
    public synchronized void close() {
        if (!allocators.isEmpty() || !streams.isEmpty() || ending != 0) {
            throw new IllegalStateException(name() + " has " + allocators.size() + " open allocators and "
                    + streams.size() + " open streams");
        }
        isClosed = true;
        for (Device memory : memories) {
            memory.close();
        }
    }

    private void requireOpen() {
        if (isClosed) {
            throw new AllocatorClosedException(name() + " is closed");
        }
    }

    /** Copies among the memories of the devices, and between them and the host. */
    private final class Transfer implements DataTransfer {
        @Override
        public boolean canCopy(MemoryInfo source, MemoryInfo target) {
            final boolean isFromDevice = isListed(source);
            final boolean isToDevice = isListed(target);
            return (isFromDevice || isHost(source)) && (isToDevice || isHost(target)) && (isFromDevice || isToDevice);
        }

        private static boolean isHost(MemoryInfo info) {
            return info.deviceType() == DeviceType.CPU && info.memoryType() == MemoryType.DEFAULT;
        }

        @Override
        public void copy(MemoryRange source, MemoryRange target, SyncStream stream) {
            Objects.requireNonNull(source, "source");
            Objects.requireNonNull(target, "target");
            requireOpen();
            if (!canCopy(source.memory(), target.memory())) {
                throw new UnsupportedMemoryException("no copies from " + source.memory() + " to " + target.memory());
            }
            if (source.byteSize() != target.byteSize()) {
                throw new InvalidSizeException(target.byteSize(), "is not the " + source.byteSize() + " of the source");
            }
            if (stream == null) {
                Device.copy(source.address(), target.address(), target.byteSize());
                return;
            }
            if (!(stream instanceof FitStream mine) || mine.factory() != Factory.this) {
                throw new IllegalArgumentException(stream + " is not a stream of " + name());
            }
            mine.submit(() -> Device.copy(source.address(), target.address(), target.byteSize()));
        }
    }
}
