package allocator.onnxruntime;

import allocator.onnxruntime.NativeEnvironment.SessionAllocator;
import allocator.onnxruntime.support.OrtVersion;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceDiscovery;
import allocator.spi.DeviceType;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.HardwareDevice;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.UnknownAllocatorException;
import allocator.spi.UnsupportedMemoryException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * A provider of ONNX Runtime's own allocators of CPU memory, so that its arena can be used, tested and measured like
 * any other.
 *
 * <p>Every create makes a new instance. {@link #SOURCE} selects the allocator; the keys of {@link ArenaSettings} apply
 * to {@link Source#ARENA} alone. Like ONNX Runtime, the arena breaks two rules of the contract: a reserve is not
 * counted against the limit (R-01, S-03). Its statistics have no peak of the bytes held and no largest free chunk.
 */
public final class OnnxRuntimeFactory implements EpFactory {
    /** An allocator of ONNX Runtime. */
    public enum Source {
        /** An arena of its own, made with {@code CreateAndRegisterAllocator} and the given settings. */
        ARENA,
        /** The arena that a session makes for itself. */
        SESSION,
        /** The allocator that the environment shares, which is no arena and counts nothing. */
        SHARED
    }

    /** The key that selects the allocator. */
    public static final OptionKey<Source> SOURCE = OptionKey.choice(
            "ort.source",
            Source.ARENA,
            Map.of("arena", Source.ARENA, "session", Source.SESSION, "shared", Source.SHARED),
            "arena: a new arena with the given settings; session: the arena of a new session; shared: the plain one");

    /** The key that disables the check of frees, for measurements: ONNX Runtime crashes on a wrong address. */
    public static final OptionKey<Boolean> CHECK_FREES =
            OptionKey.flag("ort.check_frees", true, "1: wrong frees are rejected; 0: they reach ONNX Runtime");

    private final Set<ImportedAllocator> allocators = new HashSet<>();
    private boolean closed;

    /** Creates the factory. The native library is not loaded before devices are discovered. */
    public OnnxRuntimeFactory() {}

    @Override
    public String name() {
        return "onnxruntime";
    }

    @Override
    public String vendor() {
        return "Microsoft, through java.allocator";
    }

    @Override
    public String version() {
        return "1." + OrtVersion.OLDEST_API + " to 1." + OrtVersion.NEWEST_API;
    }

    @Override
    public DeviceDiscovery discoverDevices() {
        try {
            final String version = OnnxRuntimeLibrary.version();
            return DeviceDiscovery.of(EpDevice.on(new HardwareDevice(
                            DeviceType.CPU, 0, 0, "CPU of ONNX Runtime", Map.of("onnxruntime", version)))
                    .memory(NativeEnvironment.CPU)
                    .build());
        } catch (OnnxRuntimeException e) {
            return DeviceDiscovery.none(String.valueOf(e.getMessage()));
        }
    }

    @Override
    public List<OptionKey<?>> optionKeys() {
        final List<OptionKey<?>> keys = new ArrayList<>(ArenaSettings.optionKeys());
        keys.add(SOURCE);
        keys.add(CHECK_FREES);
        keys.add(OptionKey.EXCLUSIVE);
        return List.copyOf(keys);
    }

    @Override
    public synchronized Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        if (closed) {
            throw new AllocatorClosedException("the factory " + name() + " is closed");
        }
        if (!info.equals(NativeEnvironment.CPU)) {
            throw new UnsupportedMemoryException(name() + " serves " + NativeEnvironment.CPU + ", not " + info);
        }
        options.requireValid(optionKeys());
        final Source source = options.get(SOURCE);
        final ArenaSettings settings = ArenaSettings.from(options);
        if (source != Source.ARENA) {
            rejectArenaKeys(options);
        }
        final NativeEnvironment environment = NativeEnvironment.get();
        final boolean checksFrees = options.get(CHECK_FREES);
        final AllocatorOptions effective = effective(options);
        final ImportedAllocator allocator = switch (source) {
            case ARENA -> of(environment, environment.createArena(settings), checksFrees, effective);
            case SESSION -> of(environment, environment.createSessionAllocator(), checksFrees, effective);
            case SHARED ->
                new ImportedAllocator(environment, null, environment.sharedAllocator(), checksFrees, effective);
        };
        try {
            allocators.add(allocator);
        } catch (Throwable e) {
            allocator.close();
            throw e;
        }
        return allocator;
    }

    private static ImportedAllocator of(
            NativeEnvironment environment, SessionAllocator session, boolean checksFrees, AllocatorOptions options) {
        try {
            return new ImportedAllocator(environment, session, session.allocator(), checksFrees, options);
        } catch (Throwable e) {
            environment.release(session);
            throw e;
        }
    }

    private static void rejectArenaKeys(AllocatorOptions options) {
        for (final OptionKey<?> key : ArenaSettings.optionKeys()) {
            final String value = options.value(key.name());
            if (value != null) {
                throw new InvalidOptionException(
                        key.name(),
                        value,
                        "for use with other than " + SOURCE.name() + "=arena",
                        options.origin(key.name()));
            }
        }
    }

    private AllocatorOptions effective(AllocatorOptions options) {
        final Map<String, OptionKey<?>> keys = new TreeMap<>();
        optionKeys().forEach(key -> keys.put(key.name(), key));
        if (options.get(SOURCE) != Source.ARENA) {
            ArenaSettings.optionKeys().forEach(key -> keys.remove(key.name()));
        } else {
            ArenaSettings.withoutEffect(options).forEach(key -> keys.remove(key.name()));
        }
        return options.resolve(keys.values());
    }

    /**
     * {@inheritDoc}
     *
     * <p>Waits for the calls of the allocator that are under way. A release that fails can be repeated; the allocator
     * rejects calls meanwhile.
     *
     * @throws IllegalStateException if called from within a call of an allocator of ONNX Runtime; nothing changes
     */
    @Override
    public void releaseAllocator(Allocator allocator) {
        // Not under the lock of the factory, which the calls that the release waits for may need.
        if (!(allocator instanceof ImportedAllocator imported) || !isUnreleased(imported) || !imported.close()) {
            throw new UnknownAllocatorException(
                    name() + " did not create " + allocator + ", or it is released already");
        }
        forget(imported);
    }

    private synchronized boolean isUnreleased(ImportedAllocator allocator) {
        return allocators.contains(allocator);
    }

    private synchronized void forget(ImportedAllocator allocator) {
        allocators.remove(allocator);
    }

    @Override
    public synchronized void close() {
        if (!allocators.isEmpty()) {
            throw new IllegalStateException(allocators.size() + " allocators of " + name() + " are not released");
        }
        closed = true;
    }
}
