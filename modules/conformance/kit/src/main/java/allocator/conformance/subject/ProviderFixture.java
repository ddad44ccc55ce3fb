package allocator.conformance.subject;

import allocator.conformance.ConformanceSettings;
import allocator.conformance.DeviceProbe;
import allocator.spi.DeviceDiscovery;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ExtensionContext;

/** The state that all chapters share in a run on one provider: its factories, its memories, and cleanup findings. */
public final class ProviderFixture {
    /** After so many hangs, tests get a tenth of the time limit. */
    private static final int MAX_HANGS = 3;

    /** The shortest time limit of a cleanup after others hung. */
    private static final Duration SHORTEST_CLEANUP = Duration.ofMillis(100);

    private static final ExtensionContext.Namespace SHARED = ExtensionContext.Namespace.create(ProviderFixture.class);

    private final Supplier<EpFactory> factories;
    private final Function<EpFactory, Optional<DeviceProbe>> probes;
    private final UnaryOperator<ConformanceSettings> settings;
    private final AtomicInteger hangs = new AtomicInteger();
    private final AtomicInteger hangsOfCleanup = new AtomicInteger();
    private final CleanupFindings cleanup = CleanupFindings.CURRENT.orElse(new CleanupFindings());
    private final Map<MemoryInfo, Optional<String>> obstacles = new HashMap<>();
    private @Nullable DeviceDiscovery discovery;
    private @Nullable Throwable discoveryFailure;

    /**
     * Creates the fixture of one run with the configured settings.
     *
     * @param factories makes a new factory of the provider on each call
     * @param probes returns the probe of the device beneath a factory, if there is one
     */
    public ProviderFixture(Supplier<EpFactory> factories, Function<EpFactory, Optional<DeviceProbe>> probes) {
        this(factories, probes, UnaryOperator.identity());
    }

    /**
     * Creates the fixture of one run.
     *
     * @param factories makes a new factory of the provider on each call
     * @param probes returns the probe of the device beneath a factory, if there is one
     * @param settings returns the settings of the suites for those that are configured
     */
    public ProviderFixture(
            Supplier<EpFactory> factories,
            Function<EpFactory, Optional<DeviceProbe>> probes,
            UnaryOperator<ConformanceSettings> settings) {
        this.factories = factories;
        this.probes = probes;
        this.settings = settings;
    }

    /** Passes a fixture to the tests below a context. */
    public static void share(ExtensionContext context, ProviderFixture fixture) {
        context.getStore(SHARED).put(ProviderFixture.class, fixture);
    }

    /** Returns the fixture that was passed to a test. */
    public static ProviderFixture of(ExtensionContext context) {
        return Objects.requireNonNull(context.getStore(SHARED).get(ProviderFixture.class, ProviderFixture.class));
    }

    /** Returns the settings of the suites where {@code configured} are those of JUnit's configuration. */
    public ConformanceSettings settings(ConformanceSettings configured) {
        return settings.apply(configured);
    }

    EpFactory newFactory() {
        return factories.get();
    }

    Optional<DeviceProbe> probe(EpFactory factory) {
        return probes.apply(factory);
    }

    /** Counts a test that hung. */
    public void hung() {
        hangs.incrementAndGet();
    }

    /** Returns the time limit of the next test, shorter once several tests have hung, so that the run ends in time. */
    public Duration timeLimit(ConformanceSettings settings) {
        return hangs.get() < MAX_HANGS
                ? settings.timeLimit()
                : settings.timeLimit().dividedBy(10);
    }

    /** Counts a cleanup that hung. */
    public void cleanupHung() {
        hangsOfCleanup.incrementAndGet();
    }

    /** Returns the time limit of the next cleanup, a tenth of the one before it after each that hung. */
    public Duration cleanupLimit(ConformanceSettings settings) {
        Duration limit = settings.timeLimit();
        for (int i = hangsOfCleanup.get(); i > 0 && limit.compareTo(SHORTEST_CLEANUP) > 0; i--) {
            limit = limit.dividedBy(10);
        }
        return hangsOfCleanup.get() == 0 || limit.compareTo(SHORTEST_CLEANUP) > 0 ? limit : SHORTEST_CLEANUP;
    }

    /** Returns the findings of all tests so far. */
    public CleanupFindings cleanup() {
        return cleanup;
    }

    /** Returns what a factory of the provider discovers, or throws what it threw. Discovers once, with a time limit. */
    public synchronized DeviceDiscovery discovery(ConformanceSettings settings) throws Throwable {
        if (discoveryFailure != null) {
            throw discoveryFailure;
        }
        if (discovery == null) {
            try {
                discovery = discover(settings);
            } catch (Throwable failure) {
                discoveryFailure = failure;
                throw failure;
            }
        }
        return discovery;
    }

    private DeviceDiscovery discover(ConformanceSettings settings) throws Throwable {
        final AtomicReference<EpFactory> opened = new AtomicReference<>();
        try {
            return Watchdog.call("discovery", settings.timeLimit(), () -> {
                final EpFactory factory = factories.get();
                opened.set(factory);
                return factory.discoverDevices();
            });
        } finally {
            closeQuietly(opened.get(), settings);
        }
    }

    /** Closes a factory; each test reports one that does not close. */
    private void closeQuietly(@Nullable EpFactory factory, ConformanceSettings settings) {
        if (factory == null) {
            return;
        }
        try {
            Watchdog.call("close after discovery", cleanupLimit(settings), () -> {
                factory.close();
                return factory;
            });
        } catch (HangError _) {
            cleanupHung();
        } catch (Throwable _) {
            // Reported by the tests of F-09.
        }
    }

    /** Returns why the kit cannot test a memory: it has less room than needed. Tries it once, with a time limit. */
    public synchronized Optional<String> obstacle(MemoryInfo memory, ConformanceSettings settings) {
        return obstacles.computeIfAbsent(memory, info -> tryOut(info, settings));
    }

    /** Tries a memory with a new factory; where that fails, the tests report it. */
    private Optional<String> tryOut(MemoryInfo memory, ConformanceSettings settings) {
        final AtomicReference<EpFactory> opened = new AtomicReference<>();
        try {
            return Watchdog.call("room of " + memory, settings.timeLimit(), () -> {
                final EpFactory factory = factories.get();
                opened.set(factory);
                factory.discoverDevices();
                return Room.obstacle(factory, memory);
            });
        } catch (Throwable _) {
            return Optional.empty();
        } finally {
            closeQuietly(opened.get(), settings);
        }
    }

    /** Returns the infos of all memories on all devices. */
    public List<MemoryInfo> memories(ConformanceSettings settings) throws Throwable {
        return discovery(settings).devices().stream()
                .map(EpDevice::memoryInfos)
                .flatMap(List::stream)
                .toList();
    }
}
