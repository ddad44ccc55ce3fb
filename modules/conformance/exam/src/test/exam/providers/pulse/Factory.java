package exam.pulse;

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
import allocator.spi.MemoryType;
import allocator.spi.OptionKey;
import allocator.spi.SyncStream;
import allocator.spi.UnknownAllocatorException;
import allocator.spi.UnsupportedMemoryException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/** Two accelerators of one model, each with memory of its own and pinned host memory, and with streams. */
public final class Factory implements EpFactory {
    private static final int VENDOR = 0x1e5f;
    private static final int DEVICES = 2;

    static final OptionKey<Long> LIMIT =
            OptionKey.bytes("arena.max_mem", 0, "the most that the allocator may hold; 0 is no limit");
    static final OptionKey<Long> BLOCK_UNIT =
            OptionKey.size("pulse.block_unit_bytes", 512, 64 << 20, "block sizes are multiples of this where they fit");
    static final OptionKey<Boolean> CACHE =
            OptionKey.flag("pulse.cache", true, "1: what is freed is held for the next request of its size");
    private static final List<OptionKey<?>> KEYS = List.of(LIMIT, BLOCK_UNIT, CACHE);

    private final List<PulseAllocator> allocators = new ArrayList<>();
    private final List<PulseStream> streams = new ArrayList<>();
    private final DataTransfer transfer = new PulseTransfer(this);
    private DeviceDiscovery discovery;
    private boolean isClosed;

    @Override
    public String name() {
        return "exam-pulse";
    }

    @Override
    public String vendor() {
        return "Pulse Devices";
    }

    @Override
    public String version() {
        return "0.9.2";
    }

    @Override
    public synchronized DeviceDiscovery discoverDevices() {
        if (discovery == null) {
            final List<EpDevice> devices = new ArrayList<>();
            for (int ordinal = 0; ordinal < DEVICES; ordinal++) {
                final HardwareDevice card =
                        new HardwareDevice(DeviceType.NPU, VENDOR, 0x21, "Pulse 21", Map.of("streams", "any"));
                devices.add(EpDevice.on(card)
                        .memory(info("Pulse", ordinal, MemoryType.DEFAULT, 256))
                        .memory(info("PulsePinned", ordinal, MemoryType.HOST_ACCESSIBLE, 64))
                        .build());
            }
            discovery = new DeviceDiscovery(devices, List.of());
        }
        return discovery;
    }

    private static MemoryInfo info(String name, int ordinal, MemoryType type, long byteAlignment) {
        final MemoryLocation location = new MemoryLocation(DeviceType.NPU, VENDOR, ordinal, type);
        return new MemoryInfo(name, location, byteAlignment, AllocatorType.DEVICE);
    }

    /** Returns whether this factory serves a memory. */
    boolean isListed(MemoryInfo info) {
        return listed(info) != null;
    }

    private MemoryInfo listed(MemoryInfo info) {
        for (EpDevice device : discoverDevices().devices()) {
            for (MemoryInfo candidate : device.memoryInfos()) {
                if (candidate.isSameMemoryAs(info)) {
                    return candidate;
                }
            }
        }
        return null;
    }

    private MemoryInfo requireListed(MemoryInfo info) {
        final MemoryInfo listed = listed(info);
        if (listed == null || !listed.equals(info)) {
            throw new UnsupportedMemoryException(name() + " does not serve " + info);
        }
        return listed;
    }

    @Override
    public List<OptionKey<?>> optionKeys() {
        return KEYS;
    }

    @Override
    public synchronized Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        requireOpen();
        options.requireValid(KEYS);
        final MemoryInfo listed = requireListed(info);
        final Driver driver = Driver.of(listed.deviceOrdinal());
        final PulseAllocator allocator = listed.memoryType() == MemoryType.HOST_ACCESSIBLE
                ? new PinnedAllocator(this, listed, driver, options.resolve(KEYS))
                : new PulseAllocator(this, listed, driver, options.resolve(KEYS));
        allocators.add(allocator);
        return allocator;
    }

    @Override
    public void releaseAllocator(Allocator allocator) {
        PulseAllocator released = null;
        final List<PulseStream> busy = streamsOf(allocator.info().deviceOrdinal());
        synchronized (this) {
            for (PulseAllocator candidate : allocators) {
                if (candidate == allocator) {
                    released = candidate;
                }
            }
            if (released == null) {
                throw new UnknownAllocatorException(name() + " has no reference to release of " + allocator.info());
            }
            allocators.remove(released);
        }
        released.close(busy);
    }

    @Override
    public boolean isStreamAware(MemoryInfo info) {
        return isListed(info);
    }

    @Override
    public SyncStream createSyncStream(MemoryInfo info) {
        synchronized (this) {
            requireOpen();
            final PulseStream stream = new PulseStream(this, requireListed(info), freeSlot());
            streams.add(stream);
            try {
                stream.start();
            } catch (Throwable e) {
                streams.remove(stream);
                throw e;
            }
            return stream;
        }
    }

    /** Returns a handle that no open stream has: handles are used again, as the driver does. */
    private long freeSlot() {
        long slot = 1;
        for (int i = 0; i < streams.size(); i++) {
            if (streams.get(i).handle() == slot) {
                slot++;
                i = -1;
            }
        }
        return slot;
    }

    /** Returns the open streams of a device. */
    synchronized List<PulseStream> streamsOf(int ordinal) {
        final List<PulseStream> found = new ArrayList<>();
        for (PulseStream stream : streams) {
            if (stream.ordinal() == ordinal) {
                found.add(stream);
            }
        }
        return found;
    }

    synchronized void streamClosed(PulseStream stream) {
        streams.remove(stream);
    }

    /** Returns a stream as one of a device of this factory, and open. */
    PulseStream requireStream(SyncStream stream, int ordinal) {
        Objects.requireNonNull(stream, "stream");
        if (!(stream instanceof PulseStream own) || own.factory() != this || own.ordinal() != ordinal) {
            throw new IllegalArgumentException(stream + " is not a stream of npu:" + ordinal + " of this factory");
        }
        own.requireOpen();
        return own;
    }

    @Override
    public Optional<DataTransfer> dataTransfer() {
        return Optional.of(transfer);
    }

    private void requireOpen() {
        if (isClosed) {
            throw new AllocatorClosedException("the factory " + name() + " is closed");
        }
    }

    @Override
    public synchronized void close() {
        if (!allocators.isEmpty() || !streams.isEmpty()) {
            throw new IllegalStateException(allocators.size() + " allocators and " + streams.size() + " streams of "
                    + name() + " are open");
        }
        isClosed = true;
    }
}
