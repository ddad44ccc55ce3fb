package allocator.conformance.runner;

import java.io.IOException;
import java.lang.module.Configuration;
import java.lang.module.FindException;
import java.lang.module.ModuleFinder;
import java.lang.module.ModuleReference;
import java.lang.module.ResolutionException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** The modules of a directory that can be loaded; a broken jar beside them is left out. */
final class JarModules implements ModuleFinder {
    private final Map<String, ModuleReference> modules = new TreeMap<>();

    private JarModules() {}

    /**
     * Reads each jar and each exploded module of a directory by itself, since a finder over the directory fails as a
     * whole if one is broken.
     *
     * @param application what the modules are resolved against; modules that it has are left out
     * @param problems receives a line for each jar that cannot be used
     */
    static JarModules in(Path directory, Configuration application, Consumer<String> problems) {
        final JarModules found = new JarModules();
        final Set<String> doubled = new HashSet<>();
        for (final Path file : entries(directory)) {
            try {
                for (final ModuleReference module : ModuleFinder.of(file).findAll()) {
                    final String name = module.descriptor().name();
                    if (application.findModule(name).isEmpty() && found.modules.put(name, module) != null) {
                        doubled.add(name);
                    }
                }
            } catch (FindException e) {
                problems.accept(file.getFileName() + " cannot be loaded: " + LoadedProvider.describe(e));
            }
        }
        for (final String name : doubled) {
            problems.accept("module " + name + " is in several jars of " + directory + ": none is used");
            found.modules.remove(name);
        }
        found.removeUnresolvable(application, problems);
        return found;
    }

    private static List<Path> entries(Path directory) {
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(file -> file.getFileName().toString().endsWith(".jar")
                            || Files.exists(file.resolve("module-info.class")))
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new IllegalArgumentException(directory + " cannot be read: " + e.getMessage(), e);
        }
    }

    private void removeUnresolvable(Configuration application, Consumer<String> problems) {
        for (final String name : List.copyOf(modules.keySet())) {
            try {
                final Configuration ignored = application.resolve(ModuleFinder.of(), this, Set.of(name));
            } catch (FindException | ResolutionException e) {
                problems.accept("module " + name + " cannot be loaded: " + LoadedProvider.describe(e));
                modules.remove(name);
            }
        }
    }

    /** Returns the names of the modules. */
    Set<String> names() {
        return modules.keySet();
    }

    @Override
    public Optional<ModuleReference> find(String name) {
        return Optional.ofNullable(modules.get(name));
    }

    @Override
    public Set<ModuleReference> findAll() {
        return Set.copyOf(modules.values());
    }
}
