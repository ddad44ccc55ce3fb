package allocator.runtime.discovery;

import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A provider module that a test compiles and packs. */
final class ProviderJar {
    private final String module;
    private final Map<String, String> sources = new LinkedHashMap<>();
    private final List<String> deleted = new ArrayList<>();
    private final List<Path> modulePath = new ArrayList<>(running());

    private ProviderJar(String module) {
        this.module = module;
    }

    /** A module without sources yet. */
    static ProviderJar empty(String module) {
        return new ProviderJar(module);
    }

    /** A module {@code module} that provides {@code <module>.Factory}, a complete provider of one CPU device. */
    static ProviderJar good(String module, String providerName) {
        return of(module, providerName, "", "allocator");
    }

    /**
     * The same with a fault.
     *
     * @param constructor what the constructor does
     * @param returned the expression that {@code createAllocator} returns; {@code allocator} is the right one
     */
    static ProviderJar of(String module, String providerName, String constructor, String returned) {
        return new ProviderJar(module)
                .source("module-info.java", """
                        module %1$s {
                            requires java.allocator.spi;
                            provides allocator.spi.EpFactory with %1$s.Factory;
                        }
                        """.formatted(module))
                .source(module + "/Factory.java", """
                        package %1$s;

                        import module java.allocator.spi;
                        import java.util.List;
                        import java.util.Map;

                        public class Factory implements EpFactory {
                            static final MemoryInfo MEMORY = new MemoryInfo("%2$s", new MemoryLocation(
                                    DeviceType.CPU, 0, Math.abs("%2$s".hashCode()), MemoryType.DEFAULT), 64, AllocatorType.DEVICE);

                            public Factory() {
                                %3$s
                            }

                            public String name() { return "%2$s"; }
                            public String vendor() { return "a test"; }
                            public String version() { return "7"; }

                            public DeviceDiscovery discoverDevices() {
                                return DeviceDiscovery.of(EpDevice.on(new HardwareDevice(DeviceType.CPU, 0, 0, "cpu", Map.of()))
                                        .memory(MEMORY)
                                        .build());
                            }

                            public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
                                options.requireValid(List.of());
                                Allocator allocator = new Counting(info);
                                return %4$s;
                            }

                            public void releaseAllocator(Allocator allocator) {}

                            record Counting(MemoryInfo info) implements Allocator {
                                public long alloc(long byteSize) { return 4096; }
                                public void free(long address) {}
                                public int spiLevel() { return 25; }
                            }
                        }
                        """.formatted(module, providerName, constructor, returned));
    }

    ProviderJar source(String path, String text) {
        sources.put(path, text);
        return this;
    }

    /** Adds a jar to compile against, which does not go into this one. */
    ProviderJar requiring(Path jar) {
        modulePath.add(jar);
        return this;
    }

    /** Leaves a compiled class out of the jar. */
    ProviderJar without(String classFile) {
        deleted.add(classFile);
        return this;
    }

    /** Compiles into a jar of that name in a directory. */
    ProviderJar pack(Path work, Path jar) throws IOException {
        final Path root = Files.createTempDirectory(work, module);
        final Path classes = root.resolve("classes");
        final String path = modulePath.stream().map(Path::toString).collect(Collectors.joining(File.pathSeparator));
        final List<String> javac = new ArrayList<>(List.of("-d", classes.toString(), "-p", path));
        for (final Map.Entry<String, String> source : sources.entrySet()) {
            final Path file = root.resolve("src").resolve(source.getKey());
            Files.createDirectories(file.getParent());
            javac.add(Files.writeString(file, source.getValue()).toString());
        }
        run("javac", javac);
        for (final String classFile : deleted) {
            Files.delete(classes.resolve(classFile));
        }
        run("jar", List.of("--create", "--file", jar.toString(), "-C", classes.toString(), "."));
        return this;
    }

    /** Where this test run has its modules from: the contract, and the annotations that it is compiled with. */
    private static List<Path> running() {
        return Stream.of("jdk.module.path", "java.class.path")
                .map(property -> System.getProperty(property, ""))
                .flatMap(path -> Stream.of(path.split(File.pathSeparator)))
                .filter(entry -> entry.contains("spi") || entry.contains("jspecify"))
                .map(Path::of)
                .toList();
    }

    private static void run(String tool, List<String> arguments) {
        final StringWriter output = new StringWriter();
        final PrintWriter writer = new PrintWriter(output);
        final int code =
                ToolProvider.findFirst(tool).orElseThrow().run(writer, writer, arguments.toArray(String[]::new));
        if (code != 0) {
            throw new IllegalStateException(tool + " failed:\n" + output);
        }
    }
}
