package allocator.runtime.discovery;

import allocator.provider.support.internal.Failures;
import allocator.spi.EpFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Searches for providers on the module path, on the class path and in directories. A provider that cannot be loaded is
 * reported, and the search goes on. Not for use by several threads.
 */
public final class ProviderSearch {
    /** A service loader that fails this often in a row is assumed not to advance. */
    private static final int MAX_FAILURES_IN_A_ROW = 64;

    private static final Pattern BROKEN = Pattern.compile("(?:Provider|Unable to load|NoClassDefFoundError:) (\\S+)");

    private boolean isSearchingModulePath = true;
    private final Set<Path> directories = new LinkedHashSet<>();
    private @Nullable Set<String> allowed;
    private final Set<String> excluded = new LinkedHashSet<>();

    private final List<LoadedFactory> factories = new ArrayList<>();
    private final List<SkippedProvider> skipped = new ArrayList<>();

    /** Makes a search of the module path and the class path. */
    public ProviderSearch() {}

    /**
     * Sets whether the module path and the class path are searched.
     *
     * @param value {@code true} unless set
     */
    public void setSearchingModulePath(boolean value) {
        isSearchingModulePath = value;
    }

    /** {@return a search of no place yet, with the lists of what may load of this one as they are now} */
    public ProviderSearch withSameLists() {
        final ProviderSearch search = new ProviderSearch();
        search.isSearchingModulePath = false;
        search.allowed = allowed == null ? null : new LinkedHashSet<>(allowed);
        search.excluded.addAll(excluded);
        return search;
    }

    /** Adds a directory of jars, or one jar. */
    public void addDirectory(Path directory) {
        directories.add(Objects.requireNonNull(directory, "directory"));
    }

    /** Adds to the allow-list. Without a call every provider may load. */
    public void allow(List<String> modulesOrClasses) {
        if (allowed == null) {
            allowed = new LinkedHashSet<>();
        }
        allowed.addAll(modulesOrClasses);
    }

    /** Excludes providers. */
    public void exclude(List<String> modulesOrClasses) {
        excluded.addAll(modulesOrClasses);
    }

    /** Returns why a factory may not load, or empty if it may. */
    Optional<String> rejection(String module, String className) {
        if (excluded.contains(module) || excluded.contains(className)) {
            return Optional.of((excluded.contains(module) ? module : className) + " is excluded");
        }
        if (allowed != null && !allowed.contains(module) && !allowed.contains(className)) {
            return Optional.of((module.isEmpty() ? className + ", of no module," : "module " + module)
                    + " is not on the allow-list " + allowed);
        }
        return Optional.empty();
    }

    /** Returns whether there is a list of what may load or what may not. */
    boolean isRestricted() {
        return allowed != null || !excluded.isEmpty();
    }

    /** Returns whether a module or class is excluded by its name. */
    boolean isExcluded(String moduleOrClass) {
        return excluded.contains(moduleOrClass);
    }

    /** Searches every place and constructs the factories found. Each call searches again. */
    public SearchResult find() {
        factories.clear();
        skipped.clear();
        final List<String> searched = new ArrayList<>();
        if (isSearchingModulePath) {
            searched.add("the module path and the class path");
            scan(
                    ServiceLoader.load(EpFactory.class, ProviderSearch.class.getClassLoader()).stream()
                            .iterator(),
                    ProviderSearch.class.getModule().getLayer());
        }
        for (final Path directory : directories) {
            searched.add("directory " + directory);
            new ProviderDirectory(directory, this).search();
        }
        return result(searched);
    }

    /** Returns what was found so far. */
    SearchResult result(List<String> searched) {
        return new SearchResult(List.copyOf(searched), List.copyOf(factories), List.copyOf(skipped));
    }

    /**
     * Constructs the factories of an iterator that may load, and steps over any that cannot be loaded.
     *
     * @param layer the layer from which the iterator comes, {@code null} on the class path
     */
    void scan(Iterator<ServiceLoader.Provider<EpFactory>> providers, @Nullable ModuleLayer layer) {
        new PathProviders(this, layer).construct(collect(providers));
    }

    /** Returns the providers that a service loader finds. None of their code runs. */
    private List<ServiceLoader.Provider<EpFactory>> collect(Iterator<ServiceLoader.Provider<EpFactory>> providers) {
        final List<ServiceLoader.Provider<EpFactory>> found = new ArrayList<>();
        int failuresInARow = 0;
        while (failuresInARow < MAX_FAILURES_IN_A_ROW) {
            try {
                if (!providers.hasNext()) {
                    return found;
                }
                found.add(providers.next());
                failuresInARow = 0;
            } catch (Throwable e) {
                failuresInARow++;
                skip(brokenName(e), "", path(), Causes.describe(e));
            }
        }
        Log.warning(
                "search for providers on the " + path() + " given up after " + failuresInARow + " failures in a row");
        return found;
    }

    /** Returns where the application's own providers are. */
    private static String path() {
        return ProviderSearch.class.getModule().isNamed() ? "module path" : "class path";
    }

    /** Adds a factory that was constructed. */
    void add(EpFactory factory, String module, String origin) {
        factories.add(new LoadedFactory(factory, module, origin));
    }

    /** Reports a provider, jar or directory that is not used. */
    void skip(String name, String module, String origin, String reason) {
        skipped.add(new SkippedProvider(name, module, origin, reason, false));
    }

    /** Reports a provider that the lists of what may load keep out. */
    void keepOut(String className, String module, String origin, String reason) {
        skipped.add(new SkippedProvider(className, module, origin, reason, true));
    }

    /** Returns how many providers, jars and directories were reported so far. */
    int skippedCount() {
        return skipped.size();
    }

    /** Returns the class that a service loader complains about; its message is the only source. */
    private static String brokenName(Throwable e) {
        final Matcher name = BROKEN.matcher(Failures.messageOf(e));
        return name.find() ? name.group(1) : Causes.describeOne(e);
    }
}
