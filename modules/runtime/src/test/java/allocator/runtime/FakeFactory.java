package allocator.runtime;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorType;
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
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/** A provider that keeps the contract, unless a test tells it not to. */
public final class FakeFactory implements EpFactory {
    static final OptionKey<Long> MAX_MEM = OptionKey.bytes("arena.max_mem", 0, "the most to hold, 0 for no limit");
    static final OptionKey<Long> INITIAL =
            OptionKey.size("arena.initial_chunk_size_bytes", 1048576, "the first extension");
    static final List<OptionKey<?>> KEYS = List.of(MAX_MEM, INITIAL, OptionKey.EXCLUSIVE);

    final String name;
    final List<EpDevice> devices = new ArrayList<>();
    List<OptionKey<?>> keys = KEYS;

    /** What happened, in order. */
    final List<String> log = new CopyOnWriteArrayList<>();

    /** Runs before each call, and may throw. */
    volatile Consumer<String> before = operation -> {};

    /** Changes what createAllocator returns. */
    volatile UnaryOperator<Allocator> returned = UnaryOperator.identity();

    boolean isSharing = true;
    boolean isStreamAware = true;
    volatile boolean isClosed;
    final List<FakeAllocator> created = new CopyOnWriteArrayList<>();
    final List<FakeStream> streams = new CopyOnWriteArrayList<>();
    private final Map<MemoryInfo, FakeAllocator> shared = new HashMap<>();
    private final IdentityHashMap<Allocator, Integer> references = new IdentityHashMap<>();

    FakeFactory(String name) {
        this.name = name;
    }

    /** A provider of one CPU with one memory. */
    public static FakeFactory cpu(String name) {
        return new FakeFactory(name).with(DeviceType.CPU, 0, memory("Cpu", DeviceType.CPU, 0, MemoryType.DEFAULT));
    }

    /** A provider of one GPU with device, pinned and read-only memory. */
    static FakeFactory gpu(String name) {
        return new FakeFactory(name).withGpu(0);
    }

    FakeFactory withGpu(int ordinal) {
        return with(
                DeviceType.GPU,
                ordinal,
                memory("Cuda", DeviceType.GPU, ordinal, MemoryType.DEFAULT),
                memory("CudaPinned", DeviceType.GPU, ordinal, MemoryType.HOST_ACCESSIBLE),
                readOnly("CudaReadOnly", DeviceType.GPU, ordinal));
    }

    FakeFactory with(DeviceType type, int ordinal, MemoryInfo... memories) {
        final EpDevice.Builder device =
                EpDevice.on(new HardwareDevice(type, 0, 0, name + " " + type.id() + " " + ordinal, Map.of()));
        List.of(memories).forEach(device::memory);
        devices.add(device.build());
        return this;
    }

    static MemoryInfo memory(String name, DeviceType type, int ordinal, MemoryType memoryType) {
        return new MemoryInfo(name, new MemoryLocation(type, 0, ordinal, memoryType), 256, AllocatorType.DEVICE);
    }

    static MemoryInfo readOnly(String name, DeviceType type, int ordinal) {
        return new MemoryInfo(
                name, new MemoryLocation(type, 0, ordinal, MemoryType.DEFAULT), 256, AllocatorType.READ_ONLY);
    }

    static MemoryLocation location(DeviceType type, int ordinal) {
        return new MemoryLocation(type, 0, ordinal, MemoryType.DEFAULT);
    }

    private void enter(String operation) {
        log.add(operation);
        before.accept(operation);
    }

    @Override
    public String name() {
        enter("name");
        return name;
    }

    @Override
    public String vendor() {
        enter("vendor");
        return "tests";
    }

    @Override
    public String version() {
        enter("version");
        return "1";
    }

    @Override
    public DeviceDiscovery discoverDevices() {
        enter("discoverDevices");
        return devices.isEmpty()
                ? DeviceDiscovery.none("nothing was plugged in")
                : new DeviceDiscovery(devices, List.of());
    }

    @Override
    public List<OptionKey<?>> optionKeys() {
        enter("optionKeys");
        return keys;
    }

    /** The allocator that the next create would share; for tests that look behind the runtime. */
    synchronized FakeAllocator shared(MemoryInfo info) {
        return shared.get(info);
    }

    FakeAllocator last() {
        return created.getLast();
    }

    @Override
    public synchronized Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        enter("create " + info);
        if (devices.stream().noneMatch(device -> device.memoryInfos().contains(info))) {
            throw new UnsupportedMemoryException(name + " has no " + info);
        }
        options.requireValid(keys);
        final boolean isOwn = !isSharing || info.isReadOnly() || options.get(OptionKey.EXCLUSIVE);
        final FakeAllocator allocator =
                isOwn ? make(info, options) : shared.computeIfAbsent(info, ignored -> make(info, options));
        final Allocator answer = returned.apply(allocator);
        if (answer != null) {
            references.merge(answer, 1, Integer::sum);
        }
        return answer;
    }

    private FakeAllocator make(MemoryInfo info, AllocatorOptions options) {
        final FakeAllocator allocator = new FakeAllocator.Full(info);
        allocator.effective = options.resolve(keys);
        allocator.limit = options.get(MAX_MEM) == 0 ? Long.MAX_VALUE : options.get(MAX_MEM);
        created.add(allocator);
        return allocator;
    }

    @Override
    public synchronized void releaseAllocator(Allocator allocator) {
        final Integer count = references.get(allocator);
        if (count == null) {
            throw new UnknownAllocatorException("release of an allocator that is not out");
        }
        if (count > 1) {
            references.put(allocator, count - 1);
        } else {
            references.remove(allocator);
            if (allocator instanceof FakeAllocator fake) {
                fake.isEnded = true;
                shared.remove(fake.info, fake);
            }
        }
        enter("release " + allocator.info());
    }

    synchronized int references() {
        return references.values().stream().mapToInt(Integer::intValue).sum();
    }

    @Override
    public boolean isStreamAware(MemoryInfo info) {
        enter("isStreamAware");
        return isStreamAware;
    }

    @Override
    public SyncStream createSyncStream(MemoryInfo info) {
        if (!isStreamAware) {
            throw new UnsupportedMemoryException(name + " has no streams");
        }
        enter("createSyncStream");
        final FakeStream stream = new FakeStream(info, this);
        streams.add(stream);
        return stream;
    }

    long openStreams() {
        return streams.stream().filter(stream -> !stream.isClosed).count();
    }

    @Override
    public void close() {
        enter("close");
        if (references() > 0 || openStreams() > 0) {
            throw new IllegalStateException(name + " has references or streams out");
        }
        isClosed = true;
    }
}
