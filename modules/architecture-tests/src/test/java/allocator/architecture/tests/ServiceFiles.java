package allocator.architecture.tests;

import java.io.IOException;
import java.lang.module.ModuleDescriptor;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Which classes are declared as providers of which service. */
final class ServiceFiles {
    private ServiceFiles() {}

    /** What the files below {@code META-INF/services} declare. */
    static Map<String, List<String>> in(Path folder) throws IOException {
        final Map<String, List<String>> declared = new TreeMap<>();
        final Path services = folder.resolve("META-INF/services");
        if (Files.isDirectory(services)) {
            try (Stream<Path> files = Files.list(services)) {
                for (final Path file : files.toList()) {
                    declared.put(
                            file.getFileName().toString(),
                            Files.readAllLines(file).stream()
                                    .filter(line -> !line.isBlank())
                                    .toList());
                }
            }
        }
        return declared;
    }

    /** What a module descriptor declares. */
    static Map<String, List<String>> of(ModuleDescriptor module) {
        return module.provides().stream()
                .collect(Collectors.toMap(
                        ModuleDescriptor.Provides::service,
                        ModuleDescriptor.Provides::providers,
                        (a, b) -> a,
                        TreeMap::new));
    }
}
