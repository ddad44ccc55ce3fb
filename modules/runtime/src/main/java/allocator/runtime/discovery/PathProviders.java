package allocator.runtime.discovery;

import allocator.spi.EpFactory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The providers that a service loader finds on the module path and the class path, and the modules that provide them.
 *
 * <p>A service loader shows of a provider only the type that it makes, and this may be a class of another module, or
 * {@link EpFactory} itself. Which modules make that type follows from the descriptors of all modules. If some of them
 * may load and others may not, the providers of that type cannot be distinguished: none is constructed by the loader.
 */
final class PathProviders {
    /** One that makes factories of a type; {@code declaration} is {@code null} on the class path. */
    private record Source(
            String module,
            String className,
            String origin,
            @Nullable Declaration declaration) {}

    private final ProviderSearch search;
    private final Map<Class<?>, List<Source>> byType = new LinkedHashMap<>();

    /**
     * Reads the descriptors of all modules that a service loader sees.
     *
     * @param layer the layer of the runtime's module, {@code null} on the class path
     */
    PathProviders(ProviderSearch search, @Nullable ModuleLayer layer) {
        this.search = search;
        final Set<ModuleLayer> layers = new LinkedHashSet<>();
        addWithParents(ModuleLayer.boot(), layers);
        if (layer != null) {
            addWithParents(layer, layers);
        }
        for (final ModuleLayer one : layers) {
            for (final Module module : one.modules()) {
                Declaration.classNames(module.getDescriptor()).forEach(className -> read(module, className));
            }
        }
    }

    private static void addWithParents(ModuleLayer layer, Set<ModuleLayer> layers) {
        if (layers.add(layer)) {
            layer.parents().forEach(parent -> addWithParents(parent, layers));
        }
    }

    private void read(Module module, String className) {
        try {
            final Declaration declaration = Declaration.load(module, className);
            byType.computeIfAbsent(declaration.type(), ignored -> new ArrayList<>())
                    .add(new Source(module.getName(), className, origin(module), declaration));
        } catch (Throwable e) {
            // The service loader fails on it as well, and that is reported.
        }
    }

    /** Constructs the factories that may load, and reports the others. */
    void construct(List<ServiceLoader.Provider<EpFactory>> providers) {
        final Map<Class<?>, List<ServiceLoader.Provider<EpFactory>>> found = new LinkedHashMap<>();
        providers.forEach(provider -> found.computeIfAbsent(provider.type(), ignored -> new ArrayList<>())
                .add(provider));
        found.forEach(this::construct);
    }

    private void construct(Class<?> type, List<ServiceLoader.Provider<EpFactory>> providers) {
        final List<Source> sources = new ArrayList<>(byType.getOrDefault(type, List.of()));
        if (!type.getModule().isNamed()) {
            sources.add(new Source("", type.getName(), "class path", null));
        }
        final Map<Source, String> rejected = new LinkedHashMap<>();
        sources.forEach(source -> rejection(source, type).ifPresent(why -> rejected.put(source, why)));
        final boolean areAllKnown = providers.size() <= sources.size();
        if (!search.isRestricted() || (areAllKnown && rejected.isEmpty())) {
            providers.forEach(provider -> construct(provider, sources));
            return;
        }
        rejected.forEach((source, why) -> search.keepOut(source.className(), source.module(), source.origin(), why));
        if (!areAllKnown) {
            search.skip(
                    type.getName(),
                    moduleName(type),
                    origin(type.getModule()),
                    "it is not known which modules provide it, and the list of what may load is not empty");
            return;
        }
        sources.stream().filter(source -> !rejected.containsKey(source)).forEach(source -> construct(source, rejected));
    }

    private Optional<String> rejection(Source source, Class<?> type) {
        final Optional<String> rejection = search.rejection(source.module(), source.className());
        return rejection.isEmpty() && search.isExcluded(type.getName())
                ? Optional.of(type.getName() + " is excluded")
                : rejection;
    }

    /** Constructs a factory by its loader. If several modules make its type, that of its class is reported. */
    private void construct(ServiceLoader.Provider<EpFactory> provider, List<Source> sources) {
        final Optional<Source> only = sources.size() == 1 ? Optional.of(sources.getFirst()) : Optional.empty();
        final Class<?> type = provider.type();
        try {
            final EpFactory factory = provider.get();
            final Class<?> made = factory.getClass();
            search.add(
                    factory,
                    only.map(Source::module).orElseGet(() -> moduleName(made)),
                    only.map(Source::origin).orElseGet(() -> origin(made.getModule())));
        } catch (Throwable e) {
            search.skip(
                    only.map(Source::className).orElseGet(type::getName),
                    only.map(Source::module).orElseGet(() -> moduleName(type)),
                    only.map(Source::origin).orElseGet(() -> origin(type.getModule())),
                    Causes.describe(e));
        }
    }

    /** Constructs a factory without the loader, where others of its type may not load. */
    private void construct(Source source, Map<Source, String> rejected) {
        final Declaration declaration = source.declaration();
        if (declaration == null || !declaration.isAccessibleTo(PathProviders.class.getModule())) {
            search.skip(
                    source.className(),
                    source.module(),
                    source.origin(),
                    "cannot be distinguished from " + names(rejected)
                            + ", which may not load and declares a provider of the same type: let provider() of "
                            + source.className() + " return its own class, or export its package");
            return;
        }
        try {
            search.add(declaration.construct(), source.module(), source.origin());
        } catch (Throwable e) {
            search.skip(source.className(), source.module(), source.origin(), Causes.describe(e));
        }
    }

    private static String names(Map<Source, String> sources) {
        return sources.keySet().stream()
                .map(source -> source.className() + (source.module().isEmpty() ? "" : " of " + source.module()))
                .collect(Collectors.joining(", "));
    }

    private static String moduleName(Class<?> type) {
        return type.getModule().isNamed() ? type.getModule().getName() : "";
    }

    private static String origin(Module module) {
        final ModuleLayer layer = module.getLayer();
        if (layer == null) {
            return "class path";
        }
        return layer.configuration()
                .findModule(module.getName())
                .flatMap(resolved -> resolved.reference().location())
                .map(Object::toString)
                .orElse("module path");
    }
}
