package allocator.conformance.runner;

import allocator.conformance.DeviceProbeProvider;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.HangError;
import allocator.conformance.subject.Watchdog;
import allocator.spi.EpFactory;
import java.lang.module.Configuration;
import java.lang.module.FindException;
import java.lang.module.ModuleFinder;
import java.lang.module.ResolutionException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A provider loaded from the module path, the class path, or a directory of jars.
 *
 * @param name the name of its factory, or that of the class if no factory can be constructed
 * @param type the name of the class of its factory, or of what the service's method returns
 * @param factories makes a new factory on each call
 * @param probes loads the services beside it that know the devices beneath factories
 */
record LoadedProvider(
        String name, String type, Supplier<EpFactory> factories, Supplier<List<DeviceProbeProvider>> probes) {
    /** The time limit for reading a name; that touches no device (F-01). */
    private static final Duration NAME_LIMIT = Duration.ofSeconds(20);

    /** How long a factory may take to close that was only asked for its name. */
    private static final Duration CLOSE_LIMIT = Duration.ofSeconds(1);

    /** A service loader that fails this often in a row is assumed not to advance. */
    private static final int MAX_FAILURES_IN_A_ROW = 64;

    /**
     * Returns the providers on the module path and the class path.
     *
     * @param problems receives a line for each provider that cannot be loaded; the others are not affected
     */
    static List<LoadedProvider> ofApplication(Consumer<String> problems) {
        return of(loaders(), problems);
    }

    /** Returns the class loaders of the thread and of this class: a pool's thread may have not the application's. */
    static Set<ClassLoader> loaders() {
        final Set<ClassLoader> loaders = new LinkedHashSet<>();
        loaders.add(Objects.requireNonNullElseGet(
                Thread.currentThread().getContextClassLoader(), ClassLoader::getSystemClassLoader));
        loaders.add(LoadedProvider.class.getClassLoader());
        return loaders;
    }

    /** Returns the providers that any of the class loaders finds, each once. */
    static List<LoadedProvider> of(Set<ClassLoader> loaders, Consumer<String> problems) {
        final Map<List<String>, LoadedProvider> providers = new LinkedHashMap<>();
        final Set<String> reported = new HashSet<>();
        for (final ClassLoader loader : loaders) {
            from(
                            ServiceLoader.load(EpFactory.class, loader),
                            Set.of(),
                            problem -> {
                                if (reported.add(problem)) {
                                    problems.accept(problem);
                                }
                            },
                            () -> list(ServiceLoader.load(DeviceProbeProvider.class, loader)))
                    .forEach(one -> providers.putIfAbsent(List.of(one.name(), one.type()), one));
        }
        return List.copyOf(providers.values());
    }

    /**
     * Loads the providers of a directory in a module layer of their own.
     *
     * @param problems receives a line for each jar and provider that cannot be loaded; the others are not affected
     * @throws IllegalArgumentException if it is not a directory, holds no module, or the contract is on the class path,
     *     where the modules cannot read it
     */
    static List<LoadedProvider> in(Path directory, Consumer<String> problems) {
        final ModuleLayer layer = layer(directory, problems);
        final Set<String> ofApplication =
                ofApplication(_ -> {}).stream().map(LoadedProvider::name).collect(Collectors.toSet());
        return from(
                ServiceLoader.load(layer, EpFactory.class),
                ofApplication,
                problems,
                () -> list(ServiceLoader.load(layer, DeviceProbeProvider.class)));
    }

    /**
     * Finds the services of the application and of directories whose factories have a class of this name. Constructs
     * none, and initializes no class.
     *
     * @throws IllegalArgumentException as {@link #in}
     */
    static List<ServiceLoader.Provider<EpFactory>> ofType(String type, List<Path> directories) {
        return Stream.concat(
                        loaders().stream().map(loader -> ServiceLoader.load(EpFactory.class, loader)),
                        directories.stream()
                                .map(directory -> ServiceLoader.load(layer(directory, _ -> {}), EpFactory.class)))
                .flatMap(loader -> found(loader, _ -> {}).stream())
                .filter(provider -> provider.type().getName().equals(type))
                .toList();
    }

    private static ModuleLayer layer(Path directory, Consumer<String> problems) {
        if (!Files.isDirectory(directory)) {
            throw new IllegalArgumentException(directory + " is not a directory");
        }
        if (!EpFactory.class.getModule().isNamed()) {
            throw new IllegalArgumentException("the modules of " + directory
                    + " require the module of the contract, which is on the class path: put java.allocator's "
                    + "jars on the"
                    + " module path, or those of the provider on the class path");
        }
        final ModuleLayer boot = ModuleLayer.boot();
        final JarModules jars = JarModules.in(directory, boot.configuration(), problems);
        if (jars.names().isEmpty()) {
            throw new IllegalArgumentException("there is no module in " + directory
                    + " that can be loaded; the jars that its modules require belong there too");
        }
        try {
            final Configuration configuration =
                    boot.configuration().resolveAndBind(ModuleFinder.of(), jars, jars.names());
            final ModuleLayer.Controller controller = ModuleLayer.defineModulesWithManyLoaders(
                    configuration, List.of(boot), LoadedProvider.class.getClassLoader());
            controller.layer().modules().forEach(module -> enableNativeAccess(controller, module));
            return controller.layer();
        } catch (FindException | ResolutionException | LayerInstantiationException e) {
            throw new IllegalArgumentException("the jars of " + directory + " cannot be loaded: " + e.getMessage(), e);
        }
    }

    /** Grants native access to a loaded module, if this module has it to grant. */
    @SuppressWarnings("restricted") // granted only if this module has native access
    private static void enableNativeAccess(ModuleLayer.Controller controller, Module module) {
        if (LoadedProvider.class.getModule().isNativeAccessEnabled()) {
            controller.enableNativeAccess(module);
        }
    }

    private static List<DeviceProbeProvider> list(ServiceLoader<DeviceProbeProvider> loader) {
        try {
            return loader.stream().map(ServiceLoader.Provider::get).toList();
        } catch (ServiceConfigurationError e) {
            throw new IllegalArgumentException("--probe: a probe cannot be loaded: " + describe(e), e);
        }
    }

    /**
     * Returns the providers of a loader.
     *
     * @param leftOut the names of those that are left out, as the loader of a layer finds those beneath it too
     */
    private static List<LoadedProvider> from(
            ServiceLoader<EpFactory> loader,
            Set<String> leftOut,
            Consumer<String> problems,
            Supplier<List<DeviceProbeProvider>> probes) {
        final List<LoadedProvider> providers = new ArrayList<>();
        final List<LoadedProvider> unnamed = new ArrayList<>();
        for (final ServiceLoader.Provider<EpFactory> provider : found(loader, problems)) {
            final String type = provider.type().getName();
            named(provider, problems, probes)
                    .ifPresentOrElse(
                            providers::add, () -> unnamed.add(new LoadedProvider(type, type, provider, probes)));
        }
        providers.removeIf(provider -> leftOut.contains(provider.name()));
        // A provider that cannot be constructed breaks F-01. That is a finding, unless another one is meant.
        return providers.isEmpty() ? unnamed : providers;
    }

    private static List<ServiceLoader.Provider<EpFactory>> found(
            ServiceLoader<EpFactory> loader, Consumer<String> problems) {
        final List<ServiceLoader.Provider<EpFactory>> providers = new ArrayList<>();
        final Iterator<ServiceLoader.Provider<EpFactory>> found =
                loader.stream().iterator();
        int failuresInARow = 0;
        while (failuresInARow < MAX_FAILURES_IN_A_ROW) {
            try {
                if (!found.hasNext()) {
                    break;
                }
                providers.add(found.next());
                failuresInARow = 0;
            } catch (Throwable e) {
                failuresInARow++;
                problems.accept("a provider cannot be loaded: " + describe(e));
            }
        }
        return providers;
    }

    private static Optional<LoadedProvider> named(
            ServiceLoader.Provider<EpFactory> provider,
            Consumer<String> problems,
            Supplier<List<DeviceProbeProvider>> probes) {
        try {
            final Map.Entry<String, EpFactory> named = Watchdog.call("name", NAME_LIMIT, () -> {
                final EpFactory factory = provider.get();
                if (factory.name() == null) {
                    throw new IllegalStateException("name() returned null");
                }
                return Map.entry(factory.name(), factory);
            });
            close(named.getValue(), problems);
            return Optional.of(
                    new LoadedProvider(named.getKey(), provider.type().getName(), provider, probes));
        } catch (Throwable e) {
            problems.accept("the name of provider " + provider.type().getName() + " cannot be read: " + describe(e));
            return Optional.empty();
        }
    }

    /** Closes a factory of which only the name was read. The suites report one that does not return. */
    private static void close(EpFactory factory, Consumer<String> problems) {
        try {
            Watchdog.call("close", CLOSE_LIMIT, () -> {
                factory.close();
                return factory;
            });
        } catch (HangError _) {
            // Its thread is abandoned.
        } catch (Throwable e) {
            problems.accept("provider " + factory.getClass().getName() + " threw from close: " + describe(e));
        }
    }

    /** Describes a failure and its cause in one line. */
    static String describe(Throwable thrown) {
        return Expect.causes(thrown).stream()
                .limit(2)
                .map(Expect::describe)
                .collect(Collectors.joining("; caused by "))
                .lines()
                .map(String::strip)
                .limit(1)
                .collect(Collectors.joining());
    }
}
