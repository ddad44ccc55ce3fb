package allocator.conformance.runner;

import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Watchdog;
import allocator.spi.EpFactory;
import java.lang.module.Configuration;
import java.lang.module.FindException;
import java.lang.module.ModuleFinder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * A provider loaded from the module path, the class path, or a directory of jars.
 *
 * @param name the name of its factory
 * @param factories makes a new factory on each call
 */
record LoadedProvider(String name, Supplier<EpFactory> factories) {
    /** The time limit for reading a name; that touches no device (F-01). */
    private static final Duration NAME_LIMIT = Duration.ofSeconds(20);

    /** Returns the providers on the module path and the class path. */
    static List<LoadedProvider> ofApplication() {
        return from(ServiceLoader.load(EpFactory.class));
    }

    /**
     * Loads the providers of a directory in a module layer of their own.
     *
     * @throws IllegalArgumentException if it is not a directory, its jars cannot be resolved, or the contract is on the
     *     class path, where their modules cannot read it
     */
    static List<LoadedProvider> in(Path directory) {
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
        try {
            final ModuleFinder finder = ModuleFinder.of(directory);
            final Set<String> names = finder.findAll().stream()
                    .map(reference -> reference.descriptor().name())
                    .filter(name -> boot.findModule(name).isEmpty())
                    .collect(Collectors.toSet());
            if (names.isEmpty()) {
                throw new IllegalArgumentException("there is no module in " + directory);
            }
            final Configuration configuration = boot.configuration().resolveAndBind(ModuleFinder.of(), finder, names);
            final ModuleLayer.Controller controller = ModuleLayer.defineModulesWithOneLoader(
                    configuration, List.of(boot), LoadedProvider.class.getClassLoader());
            controller.layer().modules().forEach(module -> enableNativeAccess(controller, module));
            return from(ServiceLoader.load(controller.layer(), EpFactory.class)).stream()
                    .filter(provider -> !isOfApplication(provider.name()))
                    .toList();
        } catch (FindException | LayerInstantiationException e) {
            throw new IllegalArgumentException("the jars of " + directory + " cannot be loaded: " + e.getMessage(), e);
        }
    }

    private static boolean isOfApplication(String name) {
        return ofApplication().stream().anyMatch(provider -> provider.name().equals(name));
    }

    /** Grants native access to a loaded module, if this module has it to grant. */
    @SuppressWarnings("restricted") // granted only if this module has native access
    private static void enableNativeAccess(ModuleLayer.Controller controller, Module module) {
        if (LoadedProvider.class.getModule().isNativeAccessEnabled()) {
            controller.enableNativeAccess(module);
        }
    }

    private static List<LoadedProvider> from(ServiceLoader<EpFactory> loader) {
        final List<LoadedProvider> providers = new ArrayList<>();
        try {
            loader.stream().forEach(provider -> providers.add(new LoadedProvider(nameOf(provider), provider)));
        } catch (ServiceConfigurationError e) {
            throw new IllegalArgumentException("a provider cannot be loaded: " + e.getMessage(), e);
        }
        return providers;
    }

    private static String nameOf(Supplier<EpFactory> factories) {
        try {
            return Watchdog.call("name", NAME_LIMIT, () -> {
                try (EpFactory factory = factories.get()) {
                    return factory.name();
                }
            });
        } catch (Throwable e) {
            throw new IllegalArgumentException("the name of a provider cannot be read: " + Expect.describe(e), e);
        }
    }
}
