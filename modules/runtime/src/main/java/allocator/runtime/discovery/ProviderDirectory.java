package allocator.runtime.discovery;

import allocator.provider.support.internal.NativeAccess;
import allocator.spi.EpFactory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.module.Configuration;
import java.lang.module.FindException;
import java.lang.module.ModuleFinder;
import java.lang.module.ModuleReference;
import java.lang.module.ResolutionException;
import java.lang.module.ResolvedModule;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * A directory of provider jars, or one jar. Its modules form one module layer above the layer of this module; each
 * module has a class loader of its own.
 *
 * <p>The modules that provide factories are read from their descriptors. No class of a module that may not load is
 * loaded.
 */
final class ProviderDirectory {
    private final Path directory;
    private final ProviderSearch search;
    private final ModuleLayer parent =
            Optional.ofNullable(ProviderDirectory.class.getModule().getLayer()).orElseGet(ModuleLayer::boot);
    private final Map<String, ModuleReference> modules = new LinkedHashMap<>();

    ProviderDirectory(Path directory, ProviderSearch search) {
        this.directory = directory;
        this.search = search;
    }

    /** Reports to the search what the directory holds. */
    void search() {
        if (Files.notExists(directory)) {
            search.skip(directory.toString(), "", directory.toString(), "the path does not exist");
            return;
        }
        if (!EpFactory.class.getModule().isNamed()) {
            failDirectory(
                    "is not searched, as its modules require that of the contract, which is on the class path: put"
                            + " java.allocator's jars on the module path, or those of the provider on the class path");
            return;
        }
        final int failuresBefore = search.skippedCount();
        readJars();
        final Set<String> providers = new LinkedHashSet<>();
        modules.forEach((name, module) -> Declaration.classNames(module.descriptor())
                .forEach(className -> search.rejection(name, className)
                        .ifPresentOrElse(
                                why -> search.keepOut(className, name, origin(name), why), () -> providers.add(name))));
        if (!providers.isEmpty()) {
            load(providers);
        } else if (search.skippedCount() == failuresBefore) {
            failDirectory("holds no provider module");
        }
    }

    private void failDirectory(String why) {
        search.skip(directory.toString(), "", directory.toString(), (isJar() ? "the jar " : "the directory ") + why);
    }

    private boolean isJar() {
        return Files.isRegularFile(directory);
    }

    /** Reads each jar by itself, since a finder over the directory fails as a whole if one jar is broken. */
    private void readJars() {
        final List<Path> jars;
        try (Stream<Path> files = isJar() ? Stream.of(directory) : Files.list(directory)) {
            jars = files.filter(file -> isJar() || file.getFileName().toString().endsWith(".jar"))
                    .sorted()
                    .toList();
        } catch (IOException | UncheckedIOException e) {
            failDirectory("cannot be read: " + e);
            return;
        }
        final Set<String> doubled = new LinkedHashSet<>();
        for (final Path jar : jars) {
            try {
                ModuleFinder.of(jar).findAll().forEach(module -> add(module, jar, doubled));
            } catch (Throwable e) {
                failJar(jar, "", Causes.describe(e));
            }
        }
        modules.keySet().removeAll(doubled);
    }

    private void add(ModuleReference module, Path jar, Set<String> doubled) {
        final String name = module.descriptor().name();
        final Optional<ModuleReference> running =
                parent.configuration().findModule(name).map(ResolvedModule::reference);
        if (running.isPresent()) {
            // The application's own copy is used, so that types are the same on both sides.
            if (!Declaration.classNames(module.descriptor()).isEmpty()) {
                failJar(jar, name, "module " + name + " is loaded already, from " + origin(running.get()));
            }
            return;
        }
        final ModuleReference other = modules.putIfAbsent(name, module);
        if (other != null) {
            doubled.add(name);
            failJar(
                    jar,
                    name,
                    "module " + name + " is in two jars, the other is " + origin(other) + ": neither is used");
        }
    }

    private void failJar(Path jar, String module, String why) {
        search.skip(jar.getFileName().toString(), module, jar.toString(), why);
    }

    private void fail(String className, String module, String why) {
        search.skip(className, module, origin(module), why);
    }

    private String origin(String module) {
        return Optional.ofNullable(modules.get(module))
                .map(ProviderDirectory::origin)
                .orElse(directory.toString());
    }

    private static String origin(ModuleReference module) {
        return module.location()
                .map(location ->
                        "file".equals(location.getScheme()) ? Path.of(location).toString() : location.toString())
                .orElse("unknown");
    }

    private void load(Set<String> providers) {
        final ModuleFinder finder = finder();
        final Set<String> resolvable = new LinkedHashSet<>();
        for (final String provider : providers) {
            resolvable.add(provider);
            try {
                define(finder, resolvable);
            } catch (FindException | ResolutionException | LayerInstantiationException e) {
                resolvable.remove(provider);
                classNames(provider).forEach(className -> fail(className, provider, Causes.describe(e)));
            }
        }
        if (!resolvable.isEmpty()) {
            final ModuleLayer.Controller controller = define(finder, resolvable);
            enableNativeAccess(controller);
            for (final String provider : resolvable) {
                final Module module = controller.layer().findModule(provider).orElseThrow();
                classNames(provider).forEach(className -> construct(controller, module, className));
            }
        }
    }

    /** Finds the modules that were read, and nothing else in the directory. */
    private ModuleFinder finder() {
        return new ModuleFinder() {
            @Override
            public Optional<ModuleReference> find(String name) {
                return Optional.ofNullable(modules.get(name));
            }

            @Override
            public Set<ModuleReference> findAll() {
                return Set.copyOf(modules.values());
            }
        };
    }

    private ModuleLayer.Controller define(ModuleFinder finder, Set<String> roots) {
        final Configuration configuration = parent.configuration().resolve(finder, ModuleFinder.of(), roots);
        return ModuleLayer.defineModulesWithManyLoaders(
                configuration, List.of(parent), ProviderDirectory.class.getClassLoader());
    }

    /** A layer's modules cannot be named on the command line; only its controller can give them native access. */
    @SuppressWarnings("restricted")
    private void enableNativeAccess(ModuleLayer.Controller controller) {
        final Module own = ProviderDirectory.class.getModule();
        if (own.isNativeAccessEnabled()) {
            controller.layer().modules().forEach(controller::enableNativeAccess);
        } else {
            Log.debug("providers of " + directory + " have no native access: start Java with "
                    + NativeAccess.flag(List.of(NativeAccess.nameOf(own))) + " to let the runtime grant it");
        }
    }

    private List<String> classNames(String module) {
        return Optional.ofNullable(modules.get(module))
                .map(reference -> Declaration.classNames(reference.descriptor()))
                .orElse(List.of());
    }

    /**
     * Constructs a factory of a module that may load. It is made here rather than by a service loader, which does not
     * tell which module provides what: the layer's controller opens the class to this module.
     */
    private void construct(ModuleLayer.Controller controller, Module module, String className) {
        if (search.rejection(module.getName(), className).isPresent()) {
            // Reported already; another class of the module may load.
            return;
        }
        try {
            final Declaration declaration = Declaration.load(module, className);
            final String type = declaration.type().getName();
            if (search.isExcluded(type)) {
                search.keepOut(className, module.getName(), origin(module.getName()), type + " is excluded");
                return;
            }
            controller.addOpens(module, declaration.packageName(), ProviderDirectory.class.getModule());
            search.add(declaration.construct(), module.getName(), origin(module.getName()));
        } catch (Throwable e) {
            fail(className, module.getName(), Causes.describe(e));
        }
    }
}
