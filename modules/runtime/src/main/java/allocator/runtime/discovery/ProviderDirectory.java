package allocator.runtime.discovery;

import allocator.spi.EpFactory;
import java.io.IOException;
import java.lang.module.Configuration;
import java.lang.module.FindException;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.lang.module.ModuleReference;
import java.lang.module.ResolutionException;
import java.lang.module.ResolvedModule;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.stream.Stream;

/**
 * A directory of provider jars. Its modules form one module layer above the layer of this module; each module has a
 * class loader of its own.
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
        if (!EpFactory.class.getModule().isNamed()) {
            failDirectory(
                    "is not searched, as its modules require that of the contract, which is on the class path: put"
                            + " java.allocator's jars on the module path, or those of the provider on the class path");
            return;
        }
        final int failuresBefore = search.skippedCount();
        readJars();
        final Set<String> providers = new LinkedHashSet<>();
        modules.forEach((name, module) -> providedClasses(module)
                .forEach(className -> search.rejection(name, className)
                        .ifPresentOrElse(why -> fail(className, name, why), () -> providers.add(name))));
        if (!providers.isEmpty()) {
            load(providers);
        } else if (search.skippedCount() == failuresBefore) {
            failDirectory("holds no provider module");
        }
    }

    private void failDirectory(String why) {
        search.skip(directory.toString(), "", directory.toString(), "the directory " + why);
    }

    private static List<String> providedClasses(ModuleReference module) {
        return module.descriptor().provides().stream()
                .filter(provides -> provides.service().equals(EpFactory.class.getName()))
                .map(ModuleDescriptor.Provides::providers)
                .flatMap(List::stream)
                .toList();
    }

    /** Reads each jar by itself, since a finder over the directory fails as a whole if one jar is broken. */
    private void readJars() {
        final List<Path> jars;
        try (Stream<Path> files = Files.list(directory)) {
            jars = files.filter(file -> file.getFileName().toString().endsWith(".jar"))
                    .sorted()
                    .toList();
        } catch (IOException e) {
            failDirectory("cannot be read: " + e);
            return;
        }
        final Set<String> doubled = new LinkedHashSet<>();
        for (final Path jar : jars) {
            try {
                ModuleFinder.of(jar).findAll().forEach(module -> add(module, jar, doubled));
            } catch (FindException e) {
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
            if (!providedClasses(module).isEmpty()) {
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
                fail(classOf(provider), provider, Causes.describe(e));
            }
        }
        if (!resolvable.isEmpty()) {
            final ModuleLayer.Controller controller = define(finder, resolvable);
            enableNativeAccess(controller);
            construct(controller.layer(), resolvable);
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
            ProviderSearch.LOGGER.log(
                    System.Logger.Level.INFO,
                    "providers of " + directory + " have no native access: start Java with --enable-native-access="
                            + (own.isNamed() ? own.getName() : "ALL-UNNAMED") + " to let the runtime grant it");
        }
    }

    private String classOf(String module) {
        return Optional.ofNullable(modules.get(module))
                .map(reference -> providedClasses(reference).getFirst())
                .orElse(module);
    }

    /**
     * Constructs the factories. The loader yields those of the layer first, each either as a provider or as an error,
     * and then those of the layers below, which belong to the application.
     */
    private void construct(ModuleLayer layer, Set<String> roots) {
        final Iterator<ServiceLoader.Provider<EpFactory>> providers =
                ServiceLoader.load(layer, EpFactory.class).stream().iterator();
        final Map<String, String> expected = new LinkedHashMap<>();
        layer.modules()
                .forEach(module -> Optional.ofNullable(modules.get(module.getName()))
                        .ifPresent(reference ->
                                providedClasses(reference).forEach(name -> expected.put(name, module.getName()))));
        final Set<String> seen = new LinkedHashSet<>();
        for (int i = 0; i < expected.size(); i++) {
            try {
                if (!providers.hasNext()) {
                    break;
                }
                final ServiceLoader.Provider<EpFactory> provider = providers.next();
                final Module module = provider.type().getModule();
                if (layer.equals(module.getLayer())) {
                    seen.add(provider.type().getName());
                    if (search.rejection(module.getName(), provider.type().getName())
                            .isEmpty()) {
                        search.construct(provider, module.getName(), origin(module.getName()));
                    }
                }
            } catch (ServiceConfigurationError | LinkageError e) {
                final String message = String.valueOf(e.getMessage());
                expected.keySet().stream()
                        .filter(name -> !seen.contains(name) && message.contains(name))
                        .findFirst()
                        .ifPresent(name -> {
                            seen.add(name);
                            fail(name, String.valueOf(expected.get(name)), Causes.describe(e));
                        });
            }
        }
        expected.forEach((name, module) -> {
            if (!seen.contains(name) && roots.contains(module)) {
                fail(name, module, "the class could not be loaded as a provider");
            }
        });
    }
}
