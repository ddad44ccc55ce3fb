package allocator.conformance;

import allocator.spi.DeviceDiscovery;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What all chapters share about one provider: how to get factories, what they list, what tests left behind. */
final class Kit {
    private static final int PATIENCE = 3;

    private final Supplier<EpFactory> factories;
    private final Function<EpFactory, Optional<DeviceProbe>> probes;
    private final AtomicInteger hangs = new AtomicInteger();
    private final Ledger ledger = new Ledger();
    private final Map<MemoryInfo, ProgramVerdict> verdicts = new HashMap<>();
    private @Nullable DeviceDiscovery discovery;

    Kit(Supplier<EpFactory> factories, Function<EpFactory, Optional<DeviceProbe>> probes) {
        this.factories = factories;
        this.probes = probes;
    }

    EpFactory newFactory() {
        return factories.get();
    }

    Optional<DeviceProbe> probe(EpFactory factory) {
        return probes.apply(factory);
    }

    /** Notes that a test hung. */
    void hung() {
        hangs.incrementAndGet();
    }

    /** How long a test may take: as set, and a tenth of it once several have hung, so that the kit comes to its end. */
    Duration timeLimit(ConformanceSettings settings) {
        return hangs.get() < PATIENCE
                ? settings.timeLimit()
                : settings.timeLimit().dividedBy(10);
    }

    Ledger ledger() {
        return ledger;
    }

    /** What a factory of the provider finds; looked for once. */
    synchronized DeviceDiscovery discovery(ConformanceSettings settings) throws Throwable {
        if (discovery == null) {
            discovery = Guarded.call("discovery", settings.timeLimit(), () -> {
                try (EpFactory factory = factories.get()) {
                    return factory.discoverDevices();
                }
            });
        }
        return discovery;
    }

    List<MemoryInfo> memories(ConformanceSettings settings) throws Throwable {
        return discovery(settings).devices().stream()
                .map(EpDevice::memoryInfos)
                .flatMap(List::stream)
                .toList();
    }

    /** What random programs found on a memory; they run once for all rules. */
    synchronized ProgramVerdict verdict(MemoryInfo memory, Function<MemoryInfo, ProgramVerdict> find) {
        final ProgramVerdict known = verdicts.get(memory);
        if (known != null) {
            return known;
        }
        final ProgramVerdict found = find.apply(memory);
        verdicts.put(memory, found);
        return found;
    }
}
