package allocator.conformance;

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
 * A provider that the runner can prove: one of those of the module path or the class path, or of a directory of jars.
 *
 * @param name the factory's name
 * @param factories makes a new factory on each call
 */
record FoundProvider(String name, Supplier<EpFactory> factories) {
    /** Asking a provider its name touches no device, so it takes no time. */
    private static final Duration NAME_LIMIT = Duration.ofSeconds(20);

    /** The providers of the module path and the class path. */
    static List<FoundProvider> ofApplication() {
        return from(ServiceLoader.load(EpFactory.class));
    }

    /**
     * The providers of a directory, in a layer of their own.
     *
     * @throws IllegalArgumentException if it is no directory, or its jars do not fit together, or the contract is on
     *     the class path, where they cannot see it
     */
    static List<FoundProvider> in(Path directory) {
        if (!Files.isDirectory(directory)) {
            throw new IllegalArgumentException(directory + " is not a directory");
        }
        if (!EpFactory.class.getModule().isNamed()) {
            throw new IllegalArgumentException("the modules of " + directory
                    + " require that of the contract, which is on the class path: put java.allocator's jars on the module"
                    + " path, or those of the provider on the class path");
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
                    configuration, List.of(boot), FoundProvider.class.getClassLoader());
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

    /** What may call natives itself may allow it to what it loads. */
    @SuppressWarnings("restricted") // granted only if the kit was granted it
    private static void enableNativeAccess(ModuleLayer.Controller controller, Module module) {
        if (FoundProvider.class.getModule().isNativeAccessEnabled()) {
            controller.enableNativeAccess(module);
        }
    }

    private static List<FoundProvider> from(ServiceLoader<EpFactory> loader) {
        final List<FoundProvider> providers = new ArrayList<>();
        try {
            loader.stream().forEach(provider -> providers.add(new FoundProvider(nameOf(provider), provider)));
        } catch (ServiceConfigurationError e) {
            throw new IllegalArgumentException("a provider cannot be loaded: " + e.getMessage(), e);
        }
        return providers;
    }

    private static String nameOf(Supplier<EpFactory> factories) {
        try {
            return Guarded.call("name", NAME_LIMIT, () -> {
                try (EpFactory factory = factories.get()) {
                    return factory.name();
                }
            });
        } catch (Throwable e) {
            throw new IllegalArgumentException("a provider cannot be asked its name: " + Expect.describe(e), e);
        }
    }
}
