package allocator.conformance.subject;

import allocator.conformance.ConformanceSettings;
import allocator.conformance.DeviceProbe;
import allocator.spi.DeviceDiscovery;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The state that all chapters share in a run on one provider: its factories, its memories, and cleanup findings. */
public final class ProviderFixture {
    /** After so many hangs, tests get a tenth of the time limit. */
    private static final int MAX_HANGS = 3;

    private final Supplier<EpFactory> factories;
    private final Function<EpFactory, Optional<DeviceProbe>> probes;
    private final AtomicInteger hangs = new AtomicInteger();
    private final CleanupFindings cleanup = new CleanupFindings();
    private @Nullable DeviceDiscovery discovery;

    /**
     * Creates the fixture of one run.
     *
     * @param factories makes a new factory of the provider on each call
     * @param probes returns the probe of the device beneath a factory, if there is one
     */
    public ProviderFixture(Supplier<EpFactory> factories, Function<EpFactory, Optional<DeviceProbe>> probes) {
        this.factories = factories;
        this.probes = probes;
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

    /** Returns the findings of all tests so far. */
    public CleanupFindings cleanup() {
        return cleanup;
    }

    /** Returns what a factory of the provider discovers. Discovers once, with a time limit. */
    public synchronized DeviceDiscovery discovery(ConformanceSettings settings) throws Throwable {
        if (discovery == null) {
            discovery = Watchdog.call("discovery", settings.timeLimit(), () -> {
                try (EpFactory factory = factories.get()) {
                    return factory.discoverDevices();
                }
            });
        }
        return discovery;
    }

    /** Returns the infos of all memories on all devices. */
    public List<MemoryInfo> memories(ConformanceSettings settings) throws Throwable {
        return discovery(settings).devices().stream()
                .map(EpDevice::memoryInfos)
                .flatMap(List::stream)
                .toList();
    }
}
