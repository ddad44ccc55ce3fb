package allocator.bench;

import ai.onnxruntime.OrtEnvironment;
import allocator.arena.ArenaAllocator;
import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.onnxruntime.OnnxRuntimeAllocators;
import allocator.runtime.Environment;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import java.util.Map;
import java.util.ServiceLoader;

/** An allocator to measure, open until it is closed. */
interface Subject extends AutoCloseable {
    /** The allocator that is measured. */
    Allocator allocator();

    @Override
    void close();

    /**
     * Opens what a command line names.
     *
     * <ul>
     *   <li>{@code ort}: ONNX Runtime's CPU arena with its default settings, through its C API, frees unchecked
     *   <li>{@code arena}: our arena with its default settings, over {@code malloc}
     *   <li>{@code runtime}: that of {@code cpu-reference} through an environment, as applications use it
     *   <li>{@code upcall}: that of {@code cpu-reference} as ONNX Runtime calls it: each call goes from Java to native code
     *       and from there to Java again
     *   <li>{@code malloc}: the C library, the least that a block from native code can cost
     *   <li>{@code cpu-reference}: our provider of CPU memory with its default settings
     * </ul>
     */
    static Subject open(String name) {
        return switch (name) {
            case "ort" -> ofProvider("onnxruntime", Map.of("ort.check_frees", "0"));
            case "malloc" -> of(new MallocAllocator());
            case "arena" -> ofArena();
            case "runtime" -> ofRuntime();
            case "upcall" -> ofUpcall();
            default -> ofProvider(name, Map.of());
        };
    }

    /** What stands where nothing is opened yet. */
    static Subject none() {
        return of(new MallocAllocator());
    }

    private static Subject of(Allocator allocator) {
        return new Subject() {
            @Override
            public Allocator allocator() {
                return allocator;
            }

            @Override
            public void close() {
                // Nothing is held.
            }
        };
    }

    private static Subject ofArena() {
        final BfcArena arena = new BfcArena(new MallocAllocator(), ArenaConfig.DEFAULT);
        final Allocator allocator = new ArenaAllocator(arena, AllocatorOptions.EMPTY);
        return new Subject() {
            @Override
            public Allocator allocator() {
                return allocator;
            }

            @Override
            public void close() {
                arena.close();
            }
        };
    }

    private static Subject ofRuntime() {
        final Environment environment = Environment.builder()
                .allowModules("java.allocator.cpu.reference")
                .build();
        final Allocator allocator = environment.sharedAllocators().getFirst();
        return new Subject() {
            @Override
            public Allocator allocator() {
                return allocator;
            }

            @Override
            public void close() {
                environment.close();
            }
        };
    }

    private static Subject ofUpcall() {
        final OnnxRuntimeAllocators installation = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                .provider("cpu-reference")
                .install();
        // The allocator that the environment shares is the installed one.
        final Subject shared = ofProvider("onnxruntime", Map.of("ort.source", "shared", "ort.check_frees", "0"));
        return new Subject() {
            @Override
            public Allocator allocator() {
                return shared.allocator();
            }

            @Override
            public void close() {
                shared.close();
                installation.close();
            }
        };
    }

    private static Subject ofProvider(String name, Map<String, String> options) {
        final EpFactory factory = ServiceLoader.load(EpFactory.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(provider -> provider.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no provider on the module path is called " + name));
        final var discovery = factory.discoverDevices();
        final MemoryInfo info = discovery.devices().stream()
                .flatMap(device -> device.defaultMemory().stream())
                .findFirst()
                .orElseThrow(() -> new IllegalStateException(name + " has no device: " + discovery.notes()));
        final Allocator allocator = factory.createAllocator(info, AllocatorOptions.of(options));
        return new Subject() {
            @Override
            public Allocator allocator() {
                return allocator;
            }

            @Override
            public void close() {
                factory.releaseAllocator(allocator);
                factory.close();
            }
        };
    }
}
