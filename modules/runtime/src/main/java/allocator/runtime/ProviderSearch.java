package allocator.runtime;

import allocator.spi.EpFactory;
import java.nio.file.Path;
import java.util.ArrayList;
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
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Looks for providers on the module path, on the class path and in directories. What cannot be used is told, and
 * disturbs nothing else.
 */
final class ProviderSearch {
    /** A service loader that fails this often in a row is taken not to advance any more. */
    private static final int MAX_FAILURES_IN_A_ROW = 64;

    private static final Pattern BROKEN = Pattern.compile("(?:Provider|Unable to load|NoClassDefFoundError:) (\\S+)");

    /** Causes may go round in a circle. */
    private static final int MAX_CAUSES = 16;

    private boolean isSearchingModulePath = true;
    private final Set<Path> directories = new LinkedHashSet<>();
    private @Nullable Set<String> allowed;
    private final Set<String> excluded = new LinkedHashSet<>();

    /**
     * What was found.
     *
     * @param candidates factories that can be registered
     * @param failures what cannot be used, and why
     */
    record Found(List<ProviderCandidate> candidates, List<ProviderReport> failures) {}

    void setSearchingModulePath(boolean value) {
        isSearchingModulePath = value;
    }

    void addDirectory(Path directory) {
        directories.add(Objects.requireNonNull(directory, "directory"));
    }

    void allow(List<String> modulesOrClasses) {
        if (allowed == null) {
            allowed = new LinkedHashSet<>();
        }
        allowed.addAll(modulesOrClasses);
    }

    void exclude(List<String> modulesOrClasses) {
        excluded.addAll(modulesOrClasses);
    }

    /** Why a factory may not load, or empty if it may. */
    Optional<String> refusal(String module, String className) {
        if (excluded.contains(module) || excluded.contains(className)) {
            return Optional.of((excluded.contains(module) ? module : className) + " is excluded");
        }
        if (allowed != null && !allowed.contains(module) && !allowed.contains(className)) {
            return Optional.of((module.isEmpty() ? className + ", of no module," : "module " + module)
                    + " is not on the allow-list " + allowed);
        }
        return Optional.empty();
    }

    /** Searches everything, once for each call. */
    Found find() {
        final Found found = new Found(new ArrayList<>(), new ArrayList<>());
        if (isSearchingModulePath) {
            searchModulePath(found);
        }
        directories.forEach(directory -> new ProviderDirectory(directory, this).search(found));
        return withoutAmbiguity(found);
    }

    private void searchModulePath(Found found) {
        scan(
                ServiceLoader.load(EpFactory.class, ProviderSearch.class.getClassLoader()).stream()
                        .iterator(),
                found);
    }

    /** Takes what an iterator over providers yields, past any that it cannot load. */
    void scan(Iterator<ServiceLoader.Provider<EpFactory>> providers, Found found) {
        int failuresInARow = 0;
        while (failuresInARow < MAX_FAILURES_IN_A_ROW) {
            try {
                if (!providers.hasNext()) {
                    return;
                }
                take(providers.next(), found);
                failuresInARow = 0;
            } catch (ServiceConfigurationError | LinkageError e) {
                failuresInARow++;
                found.failures().add(ProviderReport.failed(brokenName(e), "", path(), describe(e)));
            }
        }
        Log.warning(
                "search for providers on the " + path() + " given up after " + failuresInARow + " failures in a row");
    }

    /** Where the application's own providers are. */
    private static String path() {
        return ProviderSearch.class.getModule().isNamed() ? "module path" : "class path";
    }

    private void take(ServiceLoader.Provider<EpFactory> provider, Found found) {
        final Class<? extends EpFactory> type = provider.type();
        final Module module = type.getModule();
        construct(provider, module.isNamed() ? module.getName() : "", origin(type), found);
    }

    /** Makes the factory if its module may load. */
    void construct(ServiceLoader.Provider<EpFactory> provider, String module, String origin, Found found) {
        final String className = provider.type().getName();
        final Optional<String> refusal = refusal(module, className);
        if (refusal.isPresent()) {
            found.failures().add(ProviderReport.failed(className, module, origin, refusal.get()));
            return;
        }
        try {
            found.candidates().add(ProviderCandidate.of(provider.get(), origin));
        } catch (ServiceConfigurationError | LinkageError | ProviderException e) {
            found.failures().add(ProviderReport.failed(className, module, origin, describe(e)));
        }
    }

    private static String origin(Class<?> type) {
        final Module module = type.getModule();
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

    /** The class that a service loader complains about; its message is the only source. */
    private static String brokenName(Throwable e) {
        final Matcher name = BROKEN.matcher(String.valueOf(e.getMessage()));
        return name.find() ? name.group(1) : e.toString();
    }

    /** An exception with its causes, in one line. */
    static String describe(Throwable e) {
        return Stream.iterate(e, Objects::nonNull, Throwable::getCause)
                .limit(MAX_CAUSES)
                .map(Throwable::toString)
                .collect(Collectors.joining("; caused by "));
    }

    /** Two factories whose names could be meant by the same option key: none of them is taken. */
    private static Found withoutAmbiguity(Found found) {
        final Map<String, List<ProviderCandidate>> byIdentity = new LinkedHashMap<>();
        found.candidates()
                .forEach(candidate -> byIdentity
                        .computeIfAbsent(candidate.identity(), ignored -> new ArrayList<>())
                        .add(candidate));
        final Found clear = new Found(new ArrayList<>(), new ArrayList<>(found.failures()));
        for (final List<ProviderCandidate> same : byIdentity.values()) {
            if (same.size() == 1) {
                clear.candidates().addAll(same);
            } else {
                same.forEach(candidate -> clear.failures().add(refuseDouble(candidate, same)));
            }
        }
        return clear;
    }

    private static ProviderReport refuseDouble(ProviderCandidate candidate, List<ProviderCandidate> same) {
        try {
            ProviderCalls.run(candidate.name(), "close", candidate.factory()::close);
        } catch (RuntimeException e) {
            Log.warning("close of " + candidate.describe() + " failed", e);
        }
        return ProviderReport.failed(
                candidate.name(),
                candidate.module(),
                candidate.origin(),
                "several providers have this name, exclude all modules but one: "
                        + same.stream().map(ProviderCandidate::describe).collect(Collectors.joining(", ")));
    }
}
