package allocator.onnxruntime.ep.capi;

import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.DataTransfer;
import allocator.spi.DeviceDiscovery;
import allocator.spi.EpFactory;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.SyncStream;
import allocator.spi.UnknownAllocatorException;
import allocator.spi.UnsupportedMemoryException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A provider behind ONNX Runtime's C API: it is registered as a plug-in library, and every call goes to ONNX Runtime,
 * which calls the provider. With it the provider passes through the conformance kit.
 *
 * <p>The allocator of a memory that users share is the environment's; with {@code arena.exclusive=1} it is one of a
 * session of its own. The keys of options and the priority, which ONNX Runtime does not know, are those of the
 * provider.
 */
final class CApiFactory implements EpFactory {
    private final EpFactory provider;

    /** The shared allocators and their references. */
    private final Map<MemoryInfo, CApiAllocator> shared = new HashMap<>();

    /** The references of each allocator. */
    private final Map<CApiAllocator, Integer> references = new HashMap<>();

    private @Nullable CApiLibrary library;
    private @Nullable CApiTransfer transfer;
    private int openStreams;
    private boolean isClosed;

    CApiFactory(EpFactory provider) {
        this.provider = provider;
    }

    @Override
    public String name() {
        return provider.name();
    }

    @Override
    public int priority() {
        return provider.priority();
    }

    @Override
    public String vendor() {
        return provider.vendor();
    }

    @Override
    public String version() {
        return provider.version();
    }

    @Override
    public List<OptionKey<?>> optionKeys() {
        return provider.optionKeys();
    }

    private synchronized CApiLibrary library() {
        if (isClosed) {
            throw new AllocatorClosedException("the factory " + name() + " is closed");
        }
        if (library == null) {
            library = CApiLibrary.of(provider);
            transfer = new CApiTransfer(library);
        }
        return library;
    }

    @Override
    public DeviceDiscovery discoverDevices() {
        return new DeviceDiscovery(library().devices(), List.of());
    }

    private CApiMemory memory(MemoryInfo info) {
        return library()
                .memory(info.location())
                .filter(memory -> memory.info().equals(info))
                .orElseThrow(() -> new UnsupportedMemoryException(name() + " does not list " + info));
    }

    @Override
    public synchronized Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        final CApiMemory memory = memory(info);
        final CApiAllocator allocator;
        try {
            allocator = create(memory, options);
        } catch (InvalidOptionException e) {
            throw withOrigin(e, options);
        }
        references.merge(allocator, 1, Integer::sum);
        return allocator;
    }

    private CApiAllocator create(CApiMemory memory, AllocatorOptions options) {
        final CApiLibrary plugin = library();
        if ("1".equals(options.value(OptionKey.EXCLUSIVE.name()))) {
            return CApiAllocator.of(
                    plugin,
                    memory,
                    effective(options),
                    new CApiHandle.OfSession(plugin, memory, new TreeMap<>(options.toMap())));
        }
        final CApiAllocator existing = shared.get(memory.info());
        if (existing != null) {
            // The environment does not check the settings of an allocator that exists; a session does.
            new CApiSession(plugin, memory, options.toMap()).close();
            return existing;
        }
        final CApiAllocator created = CApiAllocator.of(
                plugin,
                memory,
                effective(options),
                new CApiHandle.OfEnvironment(plugin, memory, plugin.createShared(memory, options.toMap())));
        shared.put(memory.info(), created);
        return created;
    }

    private AllocatorOptions effective(AllocatorOptions options) {
        return options.resolve(optionKeys());
    }

    /** Options have no origin in the C API. */
    private static InvalidOptionException withOrigin(InvalidOptionException e, AllocatorOptions options) {
        final String message = String.valueOf(e.getMessage());
        return message.startsWith("unknown option")
                ? InvalidOptionException.unknownKey(
                        e.key(),
                        e.value(),
                        options.origin(e.key()),
                        List.of(e.accepted().split(", ")))
                : new InvalidOptionException(e.key(), e.value(), e.accepted(), options.origin(e.key()));
    }

    @Override
    public synchronized void releaseAllocator(Allocator allocator) {
        final Integer count = allocator instanceof CApiAllocator own ? references.get(own) : null;
        if (count == null) {
            throw new UnknownAllocatorException(name() + " has no reference to " + allocator);
        }
        final CApiAllocator own = (CApiAllocator) allocator;
        if (count > 1) {
            references.put(own, count - 1);
            return;
        }
        references.remove(own);
        shared.values().remove(own);
        own.release();
    }

    @Override
    public boolean isStreamAware(MemoryInfo info) {
        return library()
                .memory(info.location())
                .filter(memory -> memory.info().equals(info))
                .filter(CApiMemory::hasStreams)
                .isPresent();
    }

    @Override
    public synchronized SyncStream createSyncStream(MemoryInfo info) {
        final CApiMemory memory = memory(info);
        if (!memory.hasStreams()) {
            throw new UnsupportedMemoryException(name() + " has no streams for " + info);
        }
        final CApiStream stream = new CApiStream(library(), memory, this::streamClosed);
        openStreams++;
        return stream;
    }

    private synchronized void streamClosed() {
        openStreams--;
    }

    @Override
    public Optional<DataTransfer> dataTransfer() {
        library();
        return Optional.ofNullable(transfer);
    }

    @Override
    public synchronized void close() {
        if (isClosed) {
            return;
        }
        if (!references.isEmpty() || openStreams > 0) {
            throw new IllegalStateException(name() + " is in use: " + new ArrayList<>(references.keySet()) + " and "
                    + openStreams + " streams");
        }
        if (library != null) {
            library.close();
            transfer.close();
        }
        provider.close();
        isClosed = true;
    }
}
