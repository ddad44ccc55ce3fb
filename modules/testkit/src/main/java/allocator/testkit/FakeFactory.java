package allocator.testkit;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceDiscovery;
import allocator.spi.DeviceType;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.HardwareDevice;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryType;
import allocator.spi.OptionKey;
import allocator.spi.SyncStream;
import allocator.spi.UnknownAllocatorException;
import allocator.spi.UnsupportedMemoryException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/**
 * A provider of {@linkplain FakeAllocator.Full allocators} without memory, for made-up devices. It shares one allocator
 * for each memory, unless the memory is read-only or {@link OptionKey#EXCLUSIVE} is set, and has streams.
 *
 * <p>Its hook sees each call as the {@link #log} shows it, right after the line was added. A release takes effect
 * before the hook sees it, as the contract has it for a driver that fails there.
 */
public class FakeFactory implements EpFactory {
    /** The limit of an allocator in bytes; {@code 0} means no limit. */
    public static final OptionKey<Long> MAX_MEM =
            OptionKey.bytes("arena.max_mem", 0, "the most to hold, 0 for no limit");

    /** A key without effect. */
    public static final OptionKey<Long> INITIAL =
            OptionKey.size("arena.initial_chunk_size_bytes", 1048576, "the first extension");

    /** What {@link #optionKeys} returns, unless a test changes it. */
    public static final List<OptionKey<?>> KEYS = List.of(MAX_MEM, INITIAL, OptionKey.EXCLUSIVE);

    private final String name;
    private final List<EpDevice> devices = new ArrayList<>();
    private final List<String> log = new CopyOnWriteArrayList<>();
    private final List<FakeAllocator> created = new CopyOnWriteArrayList<>();
    private final List<FakeStream> streams = new CopyOnWriteArrayList<>();
    private final Map<MemoryInfo, FakeAllocator> shared = new HashMap<>();
    private final IdentityHashMap<Allocator, Integer> references = new IdentityHashMap<>();
    private volatile List<OptionKey<?>> keys = KEYS;
    private volatile Consumer<String> before = Faults.NONE;
    private volatile UnaryOperator<Allocator> returned = UnaryOperator.identity();
    private volatile boolean isSharing = true;
    private volatile boolean isStreamAware = true;
    private volatile boolean isClosed;

    /** Creates a provider without devices. */
    public FakeFactory(String name) {
        this.name = name;
    }

    /** Creates a provider of one CPU with one memory, {@code Cpu}. */
    public static FakeFactory cpu(String name) {
        return new FakeFactory(name)
                .with(DeviceType.CPU, 0, FakeMemory.memory("Cpu", DeviceType.CPU, 0, MemoryType.DEFAULT));
    }

    /** Creates a provider of one GPU, as {@link #withGpu} adds it. */
    public static FakeFactory gpu(String name) {
        return new FakeFactory(name).withGpu(0);
    }

    /** Adds a GPU with device, pinned and read-only memory: {@code Cuda}, {@code CudaPinned}, {@code CudaReadOnly}. */
    public final FakeFactory withGpu(int ordinal) {
        return with(
                DeviceType.GPU,
                ordinal,
                FakeMemory.memory("Cuda", DeviceType.GPU, ordinal, MemoryType.DEFAULT),
                FakeMemory.memory("CudaPinned", DeviceType.GPU, ordinal, MemoryType.HOST_ACCESSIBLE),
                FakeMemory.readOnly("CudaReadOnly", DeviceType.GPU, ordinal));
    }

    /** Adds a device with its memories. */
    public final FakeFactory with(DeviceType type, int ordinal, MemoryInfo... memories) {
        final EpDevice.Builder device =
                EpDevice.on(new HardwareDevice(type, 0, 0, name + " " + type.id() + " " + ordinal, Map.of()));
        List.of(memories).forEach(device::memory);
        devices.add(device.build());
        return this;
    }

    /** Sets the hook, which is called with each line of the log. */
    public final FakeFactory before(Consumer<String> hook) {
        before = hook;
        return this;
    }

    /** Sets what becomes of an allocator on its way to the caller of {@link #createAllocator}; it may be null. */
    public final FakeFactory returned(UnaryOperator<Allocator> change) {
        returned = change;
        return this;
    }

    /** Sets what {@link #optionKeys} returns from now on. */
    public final FakeFactory keys(List<OptionKey<?>> optionKeys) {
        keys = optionKeys;
        return this;
    }

    /** Sets whether allocators are shared, rather than created with every call. */
    public final FakeFactory sharing(boolean value) {
        isSharing = value;
        return this;
    }

    /** Sets what {@link #isStreamAware} returns from now on. */
    public final FakeFactory streamAware(boolean value) {
        isStreamAware = value;
        return this;
    }

    /**
     * Returns what happened, in order, one line each, which a test may clear: the name of a method without its
     * parentheses, {@code create} and {@code release} with the memory, and of its streams {@code run end} and
     * {@code close stream}.
     */
    public final List<String> log() {
        return log;
    }

    /** Returns every device of the provider, in the order they were added. */
    public final List<EpDevice> devices() {
        return Collections.unmodifiableList(devices);
    }

    /** Returns every allocator that was created, released ones included. */
    public final List<FakeAllocator> created() {
        return Collections.unmodifiableList(created);
    }

    /** Returns the allocator that was created last. */
    public final FakeAllocator last() {
        return created.getLast();
    }

    /** Returns the allocator that the next {@link #createAllocator} would share; {@code null} if there is none. */
    public final synchronized FakeAllocator shared(MemoryInfo info) {
        return shared.get(info);
    }

    /** Returns every stream that was created, closed ones included; the handle of each is its number from 0. */
    public final List<FakeStream> streams() {
        return Collections.unmodifiableList(streams);
    }

    /** Returns how many references to allocators are out. */
    public final synchronized int references() {
        return references.values().stream().mapToInt(Integer::intValue).sum();
    }

    public final long openStreams() {
        return streams.stream().filter(stream -> !stream.isClosed()).count();
    }

    /** Returns whether a {@link #close} has not failed. */
    public final boolean isClosed() {
        return isClosed;
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

    @Override
    public synchronized Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        enter("create " + info);
        if (devices.stream().noneMatch(device -> device.memoryInfos().contains(info))) {
            throw new UnsupportedMemoryException(name + " has no " + info);
        }
        options.requireValid(keys);
        final boolean isOwn = !isSharing || info.isReadOnly() || options.get(OptionKey.EXCLUSIVE);
        final Allocator allocator = returned.apply(
                isOwn ? create(info, options) : shared.computeIfAbsent(info, ignored -> create(info, options)));
        if (allocator != null) {
            references.merge(allocator, 1, Integer::sum);
        }
        return allocator;
    }

    private FakeAllocator create(MemoryInfo info, AllocatorOptions options) {
        final FakeAllocator allocator = new FakeAllocator.Full(info)
                .effectiveOptions(options.resolve(keys))
                .limit(options.get(MAX_MEM) == 0 ? Long.MAX_VALUE : options.get(MAX_MEM));
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
                fake.close();
                shared.remove(fake.info(), fake);
            }
        }
        enter("release " + allocator.info());
    }

    @Override
    public boolean isStreamAware(MemoryInfo info) {
        enter("isStreamAware");
        return isStreamAware;
    }

    @Override
    public synchronized SyncStream createSyncStream(MemoryInfo info) {
        if (!isStreamAware) {
            throw new UnsupportedMemoryException(name + " has no streams");
        }
        enter("createSyncStream");
        final FakeStream stream = new LoggedStream(info).handle(streams.size());
        streams.add(stream);
        return stream;
    }

    /** A view is a stream like any other one here, except for its handle. */
    @Override
    public synchronized SyncStream viewSyncStream(MemoryInfo info, long handle) {
        enter("viewSyncStream");
        final FakeStream stream = new LoggedStream(info).handle(handle);
        streams.add(stream);
        return stream;
    }

    @Override
    public void close() {
        enter("close");
        if (references() > 0 || openStreams() > 0) {
            throw new IllegalStateException(name + " has references or streams out");
        }
        isClosed = true;
    }

    /** A stream with lines in the provider's log. */
    private final class LoggedStream extends FakeStream {
        LoggedStream(MemoryInfo memory) {
            super(memory);
        }

        @Override
        public void onSessionRunEnd() {
            super.onSessionRunEnd();
            log.add("run end");
        }

        @Override
        public void close() {
            log.add("close stream");
            super.close();
        }
    }
}
