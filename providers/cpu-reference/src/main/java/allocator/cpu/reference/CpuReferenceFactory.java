package allocator.cpu.reference;

import allocator.arena.ArenaConfig;
import allocator.arena.ArenaOptions;
import allocator.arena.bump.BumpConfig;
import allocator.arena.bump.BumpOptions;
import allocator.arena.plan.ArenaPlans;
import allocator.provider.support.References;
import allocator.provider.support.StreamOwner;
import allocator.provider.support.internal.Endings;
import allocator.provider.support.internal.ProviderVersion;
import allocator.provider.support.platform.CLibrary;
import allocator.provider.support.platform.Platform;
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
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * The provider {@code cpu-reference}: one device, the host's processor, with default and read-only memory.
 *
 * <p>Default memory is served by one arena that all users share, unless {@code arena.exclusive} asks for another: best
 * fit, or bump allocation with {@code arena.kind=bump}. Read-only memory is taken from the system block by block, since
 * an arena gains nothing where memory is allocated once.
 *
 * <p>One lock guards creation, streams and the close. It is not held while memory is allocated or freed.
 */
public final class CpuReferenceFactory implements EpFactory {
    private static final long BYTE_ALIGNMENT = OptionKey.SIZE_GRANULARITY;
    private static final MemoryLocation HOST = new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT);
    private static final MemoryInfo DEFAULT_MEMORY = new MemoryInfo("Cpu", HOST, BYTE_ALIGNMENT, AllocatorType.DEVICE);
    private static final MemoryInfo READ_ONLY_MEMORY =
            new MemoryInfo("CpuReadOnly", HOST, BYTE_ALIGNMENT, AllocatorType.READ_ONLY);
    private static final OptionKey<Boolean> FOR_PROCESSES = OptionKey.choice(
            "memory.share_weights", false, Map.of("0", false, "1", false, "machine", true), "machine: all processes");
    private static final List<OptionKey<?>> OPTION_KEYS = Stream.of(
                    List.<OptionKey<?>>of(OptionKey.EXCLUSIVE, FOR_PROCESSES), ArenaOptions.KEYS, BumpOptions.KEYS)
            .flatMap(List::stream)
            .toList();

    /** The keys that may apply to a best-fit arena. */
    private static final List<OptionKey<?>> BFC_KEYS = Stream.<OptionKey<?>>concat(
                    Stream.of(OptionKey.EXCLUSIVE, BumpOptions.KIND), ArenaOptions.KEYS.stream())
            .toList();

    /** The keys that apply to a bump arena. */
    private static final List<OptionKey<?>> BUMP_KEYS = Stream.<OptionKey<?>>concat(
                    Stream.of(OptionKey.EXCLUSIVE), BumpOptions.APPLICABLE.stream())
            .toList();

    private final Heap heap;
    private final Platform platform;
    private final Object lock = new Object();
    private final References<CpuAllocator> references = new References<>();
    private final Endings endings = new Endings();
    private final StreamOwner<CpuStream> streamOwner = new Owner();
    private int openStreams;
    private boolean isClosed;

    /** Creates the factory; called by the service loader. */
    public CpuReferenceFactory() {
        this(Heap.NATIVE);
    }

    CpuReferenceFactory(Heap heap) {
        this(heap, Platform.current());
    }

    CpuReferenceFactory(Heap heap, Platform platform) {
        this.heap = heap;
        this.platform = platform;
    }

    @Override
    public String name() {
        return "cpu-reference";
    }

    @Override
    public String vendor() {
        return "java.allocator";
    }

    @Override
    public String version() {
        return ProviderVersion.of(getClass());
    }

    /** The processor as it was when it was first asked for: a control group may change its memory. */
    private static final class Processor {
        static final HardwareDevice OF_PROCESS = new HardwareDevice(
                DeviceType.CPU,
                0,
                0,
                System.getProperty("os.arch") + " processor",
                Map.of(
                        "cores",
                        Integer.toString(Runtime.getRuntime().availableProcessors()),
                        "memory",
                        (HostMemorySize.SYSTEM.bytes() >> 20) + " MiB"));

        private Processor() {}
    }

    @Override
    public DeviceDiscovery discoverDevices() {
        return DeviceDiscovery.of(EpDevice.on(Processor.OF_PROCESS)
                .memory(DEFAULT_MEMORY)
                .memory(READ_ONLY_MEMORY)
                .build());
    }

    @Override
    public List<OptionKey<?>> optionKeys() {
        return OPTION_KEYS;
    }

    @Override
    public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        options.requireValid(OPTION_KEYS);
        final CLibrary ignored = CLibrary.of(platform); // before a class is initialized that would stay unusable
        final AllocatorOptions served = HostPages.pageBytesFor(options.get(ArenaOptions.MAX_MEM)) == 0
                ? ArenaOptions.withoutPages(options)
                : options;
        final ArenaConfig config = ArenaConfig.from(served);
        final ArenaPlans plans = ArenaPlans.from(options); // reads files
        synchronized (lock) {
            requireOpen();
            return acquire(info, options, () -> newArena(options, served, config, plans));
        }
    }

    private CpuAllocator acquire(MemoryInfo info, AllocatorOptions options, Supplier<CpuArena> newArena) {
        if (info.equals(READ_ONLY_MEMORY)) {
            return references.acquireExclusive(() -> new HostAllocator(READ_ONLY_MEMORY, heap, null));
        }
        if (!info.equals(DEFAULT_MEMORY)) {
            throw new UnsupportedMemoryException(
                    name() + " does not serve " + info + ", only " + DEFAULT_MEMORY + " and " + READ_ONLY_MEMORY);
        }
        return options.get(OptionKey.EXCLUSIVE)
                ? references.acquireExclusive(newArena)
                : references.acquireShared(DEFAULT_MEMORY, newArena);
    }

    private CpuArena newArena(AllocatorOptions options, AllocatorOptions served, ArenaConfig config, ArenaPlans plans) {
        final HostAllocator upstream = new HostAllocator(
                DEFAULT_MEMORY, heap, options.get(FOR_PROCESSES) ? new CopyLinks(Path.of("/dev/shm")) : null);
        return switch (options.get(BumpOptions.KIND)) {
            case BFC -> {
                final AllocatorOptions effective =
                        served.resolve(ArenaOptions.applicable(BFC_KEYS, served, !plans.isEmpty()));
                yield CpuPlannedArena.over(CpuBfcArena.of(upstream, platform, config, effective), plans);
            }
            case BUMP ->
                new CpuBumpArena(
                        upstream,
                        BumpConfig.from(options),
                        options.get(ArenaOptions.MAX_MEM),
                        options.resolve(BUMP_KEYS));
        };
    }

    @Override
    public void releaseAllocator(Allocator allocator) {
        if (!(allocator instanceof CpuAllocator cpuAllocator)) {
            throw unknown(allocator);
        }
        final Endings.End end = endings.of(allocator, cpuAllocator::destroy);
        switch (references.release(allocator)) {
            case LAST -> end.run();
            case STILL_USED -> {}
            case UNKNOWN -> {
                if (!endings.runAgain(allocator)) {
                    throw unknown(allocator);
                }
            }
        }
    }

    private static UnknownAllocatorException unknown(Allocator allocator) {
        return new UnknownAllocatorException(
                "this factory has no open reference to " + allocator + "; it was released or made elsewhere");
    }

    @Override
    public boolean isStreamAware(MemoryInfo info) {
        return info.equals(DEFAULT_MEMORY);
    }

    @Override
    public SyncStream createSyncStream(MemoryInfo info) {
        if (!isStreamAware(info)) {
            throw new UnsupportedMemoryException(name() + " has no streams for " + info);
        }
        synchronized (lock) {
            requireOpen();
            final CpuStream stream = new CpuStream(info, streamOwner);
            openStreams++;
            return stream;
        }
    }

    /** Passes a stream's reports on to the arenas that have used it; an arena may be closed meanwhile. */
    private final class Owner implements StreamOwner<CpuStream> {
        @Override
        public boolean isOpen(Allocator allocator) {
            return allocator instanceof CpuArena arena && !arena.isClosed(); // of this factory or another one
        }

        @Override
        public void runEnded(CpuStream stream) {
            references.forEachOpen(stream.arenas(), arena -> arena.endRun(stream));
        }

        @Override
        public void workEnded(CpuStream stream) {
            references.forEachOpen(stream.arenas(), arena -> arena.releaseStream(stream));
        }

        @Override
        public void closed(CpuStream stream) {
            synchronized (lock) {
                openStreams--;
            }
        }
    }

    @Override
    public Optional<DataTransfer> dataTransfer() {
        return Optional.of(CpuTransfer.INSTANCE);
    }

    /** {@inheritDoc} Tries again to return what the system did not take back before; so does a second close. */
    @Override
    public void close() {
        synchronized (lock) {
            if (references.count() > 0 || openStreams > 0) {
                throw new IllegalStateException(name() + " is in use: " + references.count() + " allocators and "
                        + openStreams + " streams are out; give them back first");
            }
            isClosed = true;
            endings.runAgain();
        }
    }

    private void requireOpen() {
        if (isClosed) {
            throw new AllocatorClosedException("the factory " + name() + " is closed");
        }
    }
}
