package allocator.bench.subject;

import allocator.arena.ArenaAllocator;
import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.arena.StreamArenaAllocator;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.StreamAwareAllocator;
import java.util.Map;
import java.util.OptionalLong;
import java.util.ServiceLoader;

/** An allocator of the contract. */
class SpiSubject extends Subject {
    private final Allocator allocator;
    private final Runnable onClose;

    private SpiSubject(Allocator allocator, Runnable onClose) {
        this.allocator = allocator;
        this.onClose = onClose;
    }

    /** Our arena over {@code malloc}. */
    static Subject arena(Map<String, String> options) {
        final ArenaAllocator allocator = arenaOverMalloc(AllocatorOptions.of(options));
        return new SpiSubject(allocator, allocator::close);
    }

    /** Our arena with its default settings, each thread on a stream of its own. */
    static Subject arenaOnStreams() {
        final ArenaAllocator allocator = arenaOverMalloc(AllocatorOptions.EMPTY);
        return new SpiSubject(allocator, allocator::close) {
            @Override
            public Slots slots(int count) {
                return new StreamSlots((StreamAwareAllocator) allocator, count);
            }
        };
    }

    private static ArenaAllocator arenaOverMalloc(AllocatorOptions options) {
        return new StreamArenaAllocator(new BfcArena(new MallocAllocator(), ArenaConfig.from(options)), options);
    }

    /** A {@code malloc} by itself. */
    static Subject malloc() {
        return new SpiSubject(new MallocAllocator(), () -> {}) {
            @Override
            public OptionalLong bytesHeld() {
                return OptionalLong.empty();
            }
        };
    }

    /** ONNX Runtime's CPU arena with its default settings, through its C API, frees unchecked. */
    static Subject onnxRuntime() {
        return provider("onnxruntime", Map.of("ort.check_frees", "0"));
    }

    /** A provider's allocator of its first device. */
    static SpiSubject provider(String name, Map<String, String> options) {
        final EpFactory factory = ServiceLoader.load(EpFactory.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(provider -> provider.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("no provider on the module path is called " + name));
        final var discovery = factory.discoverDevices();
        final MemoryInfo info = discovery.devices().stream()
                .flatMap(device -> device.defaultMemory().stream())
                .findFirst()
                .orElseThrow(() -> new IllegalStateException(name + " has no device: " + discovery.notes()));
        final Allocator allocator = factory.createAllocator(info, AllocatorOptions.of(options));
        return new SpiSubject(allocator, () -> {
            factory.releaseAllocator(allocator);
            factory.close();
        });
    }

    @Override
    public Slots slots(int count) {
        return new AddressSlots(allocator, count);
    }

    @Override
    public OptionalLong bytesHeld() {
        return OptionalLong.of(allocator.stats().bytesHeld());
    }

    @Override
    public final void close() {
        onClose.run();
    }
}
