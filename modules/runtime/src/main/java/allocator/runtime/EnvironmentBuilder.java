package allocator.runtime;

import allocator.provider.support.budget.Budget;
import allocator.runtime.discovery.ProviderSearch;
import allocator.runtime.inspection.Frames;
import allocator.runtime.inspection.InspectionOptions;
import allocator.runtime.options.DeviceLimits;
import allocator.runtime.options.OptionPlace;
import allocator.runtime.options.ProviderOrder;
import allocator.runtime.options.RuntimeKeys;
import allocator.spi.EpFactory;
import allocator.spi.InvalidOptionException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/** Builds an {@link Environment}: where to search for providers, and their settings. Not for use by several threads. */
public final class EnvironmentBuilder {
    /**
     * The key of the option that orders providers: names separated by commas, such as {@code cuda-mempool,cuda-arena}.
     * Where several providers have the same memory, the environment's shared allocator and the default device of
     * sessions are those of the first provider listed; then of the one with the highest {@link EpFactory#priority};
     * then of the first by name. A name that no provider has is listed by {@link Environment#unusedSettings}.
     */
    public static final String PROVIDER_ORDER = ProviderOrder.KEY;

    /**
     * The key of the option that names a directory for snapshots: when a request fails for lack of memory, a snapshot
     * of the environment is written there as {@code allocator-snapshot-<time>-<process>.json}, before the caller gets
     * the {@link allocator.spi.OutOfMemoryException}. The directory is made if it does not exist, and never holds more
     * than 16 snapshots. Whatever fails while one is written, such as a full disk, is logged and does not change what
     * the caller gets. Without the option nothing is written.
     */
    public static final String SNAPSHOT_ON_FAILURE = RuntimeKeys.SNAPSHOT_ON_FAILURE;

    /**
     * The key of the option that shows allocators in JMX: {@code 1} registers an
     * {@link allocator.runtime.metrics.AllocatorMXBean} with the platform's bean server for each instance of an
     * allocator while it is in use. The default is {@code 0}. Needs the module {@code java.management}.
     */
    public static final String JMX = RuntimeKeys.JMX.name();

    /**
     * The key of the option that makes snapshots list recent events: allocations, frees, growth, shrinks and failures
     * of this process, at most as many as its value says, up to 4,194,304. The default is {@code 0}, none. They are
     * remembered while an environment with the option is open; the first one decides how many.
     */
    public static final String HISTORY = RuntimeKeys.HISTORY.name();

    /**
     * The key of the option that reports leaks: blocks that are live when a session is closed, once its last run is
     * over, and all live blocks when the environment cannot be closed for them. {@code full} records the call site of
     * each block, as in a test, {@code sampled} that of one block in 100, as in production; the default is {@code off},
     * at no cost. A session that sets {@link SessionOptions#CALL_SITES} records as that says. A report is one line of
     * the log with the call sites that have most, and never fails a close. A block that is meant to outlive its session
     * is reported too.
     */
    public static final String LEAKS = RuntimeKeys.LEAKS.name();

    /**
     * The key of the option that names a directory for reports of {@link #LEAKS}: each is also written there, as a
     * snapshot {@code allocator-leaks-<time>-<process>.json} that has the call sites. The directory is made if it does
     * not exist, and gets no more than 16 reports. What fails while one is written, such as a full disk, is part of the
     * line in the log. Rejected by {@link #build} without {@link #LEAKS}.
     */
    public static final String LEAKS_REPORT = RuntimeKeys.LEAKS_REPORT;

    private final ProviderSearch search = new ProviderSearch();
    private final InspectionOptions inspection =
            new InspectionOptions(OptionPlace.ENVIRONMENT.origin(), Frames.OF_RUNTIME);
    private ProviderOrder order = ProviderOrder.DEFAULT;

    /** The settings of providers and devices. */
    private final Map<String, String> settings = new TreeMap<>();

    EnvironmentBuilder() {}

    /**
     * Sets an option: one of the keys of this class, or one of a provider: {@code ep_factory.<provider name>.<key of
     * the provider>}, with the name in its exact case, such as {@code ep_factory.cuda-arena.arena.max_mem}. It applies
     * to the provider's shared allocators, and to those of sessions that do not override it.
     *
     * <p>{@code device.<device>.max_mem}, such as {@code device.gpu:0.max_mem} or {@code device.cpu:0.max_mem}, limits
     * what all allocators of a device hold, in this process and as long as it runs: bytes, a size such as {@code 8g},
     * {@code max} for no limit, or a share of the device such as {@code 80%}. It is set when a provider of the device
     * is registered; a later environment may change it. See {@link Budget#ofMemory}.
     *
     * @param key the key
     * @param value its value, checked when the provider is registered
     * @return this builder
     * @throws InvalidOptionException if the key is unknown or belongs elsewhere, or the order is not accepted
     */
    public EnvironmentBuilder option(String key, String value) {
        Objects.requireNonNull(value, "value");
        if (key.equals(PROVIDER_ORDER)) {
            order = ProviderOrder.parse(value);
        } else if (OptionPlace.ENVIRONMENT.isOfProvider(key) || DeviceLimits.isKey(key)) {
            settings.put(key, value);
        } else if (!inspection.set(key, value)) {
            throw OptionPlace.ENVIRONMENT.unknown(key, value);
        }
        return this;
    }

    /**
     * Sets whether the module path and the class path are searched for providers.
     *
     * @param value {@code true} unless set
     * @return this builder
     */
    public EnvironmentBuilder modulePathProviders(boolean value) {
        search.setSearchingModulePath(value);
        return this;
    }

    /**
     * Adds a directory of jars, or one jar, to the search. Its jars form a module layer of their own: they see the
     * modules of the application, but not those of another directory. May be called several times. If this project's
     * jars are on the class path, such a layer cannot see them; the directory is then not searched, and
     * {@link Environment#providers} reports why.
     *
     * @param directory a directory, or a jar that needs no other one of it
     * @return this builder
     */
    public EnvironmentBuilder providersFrom(Path directory) {
        search.addDirectory(directory);
        return this;
    }

    /**
     * Adds to the list of providers that may load. No code of other providers runs: their classes are not initialized.
     * Without a call all providers may load.
     *
     * <p>The module that provides a factory decides, not that of the factory's class. If modules on the module path
     * cannot be distinguished, since they declare one type and only some of them may load, those whose package is
     * exported are constructed, and the others are reported and not used.
     *
     * @param modulesOrClasses names of modules, or of classes as {@code provides ... with} and
     *     {@code META-INF/services} name them, since those of the class path have no module
     * @return this builder
     */
    public EnvironmentBuilder allowModules(String... modulesOrClasses) {
        search.allow(List.of(modulesOrClasses));
        return this;
    }

    /**
     * Excludes providers, for instance one of two that have the same name.
     *
     * @param modulesOrClasses names of modules, of factory classes, or of classes as {@link #allowModules} takes them
     * @return this builder
     */
    public EnvironmentBuilder exclude(String... modulesOrClasses) {
        search.exclude(List.of(modulesOrClasses));
        return this;
    }

    /**
     * Searches for providers and registers them. A provider that cannot be used is reported by
     * {@link Environment#providers} and does not affect the others.
     *
     * @return the environment, which the caller closes
     * @throws InvalidOptionException if a setting is not understood by the provider that it is for, if
     *     {@link #LEAKS_REPORT} is set without {@link #LEAKS}, or if the limit of a device is not accepted or above its
     *     memory
     */
    public Environment build() {
        final Environment environment = new Environment(search, order, inspection, settings);
        try {
            environment.registerFound(search.find());
            environment.beginObservations();
            return environment;
        } catch (Throwable e) {
            environment.endObservations();
            throw e;
        }
    }
}
