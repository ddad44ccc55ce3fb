package allocator.micrometer;

import allocator.runtime.Environment;
import allocator.runtime.metrics.AllocatorListener;
import allocator.runtime.metrics.Observation;
import allocator.runtime.metrics.ObservedAllocator;
import allocator.runtime.snapshot.Snapshot.User;
import allocator.spi.AllocatorStats;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.BaseUnits;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.ToDoubleFunction;

/**
 * Binds the allocators of an environment to registries of Micrometer, on OpenTelemetry's names: gauges of bytes in use,
 * held and allowed, and a counter of failures, for each instance of a provider's allocator, while it is in use.
 *
 * <table>
 *   <caption>Meters</caption>
 *   <tr><th>meter</th><th>is</th></tr>
 *   <tr><td>{@code jvm.memory.used}</td><td>bytes of live blocks, padding included</td></tr>
 *   <tr><td>{@code jvm.memory.committed}</td><td>bytes taken from the device</td></tr>
 *   <tr><td>{@code jvm.memory.limit}</td><td>{@code arena.max_mem}; no meter if there is no limit</td></tr>
 *   <tr><td>{@code jvm.memory.failed.allocations}</td><td>allocations that failed for lack of memory, a
 *       counter</td></tr>
 * </table>
 *
 * <p>Each has the tags {@code jvm.memory.type}, the kind of the device such as {@code gpu}, and
 * {@code jvm.memory.pool.name}: provider, memory and user, such as {@code cuda-arena Cuda (gpu:0) bert}, with a number
 * if the registry has another one of that name, also one of another environment or binder. An instance with several
 * users has the name of its first. Where the registry's filters make one meter of several, it shows their sum until the
 * last is released.
 *
 * <p>Prometheus wants the same tags of all meters of one name. Micrometer's own {@code JvmMemoryMetrics} has these with
 * its convention for OpenTelemetry; beside its older convention use another {@linkplain #AllocatorMetrics(Environment,
 * String) prefix}.
 *
 * <p>Nothing is read until a registry asks. Safe for use by several threads.
 */
public final class AllocatorMetrics implements MeterBinder, AutoCloseable {
    /** The prefix of OpenTelemetry's names. */
    public static final String OPEN_TELEMETRY = "jvm.memory";

    private static final String POOL_NAME = "jvm.memory.pool.name";

    /** What the meters of this module show in each registry, of all binders: a registry may have one for several. */
    private static final Map<MeterRegistry, Map<Meter, Pools>> SHOWN =
            Collections.synchronizedMap(new IdentityHashMap<>());

    private final Environment environment;
    private final String prefix;

    /** Its lock is held while meters are added. */
    private final IdentityHashMap<MeterRegistry, Observation> observations = new IdentityHashMap<>();

    /**
     * Creates a binder on OpenTelemetry's names.
     *
     * @param environment the environment, which stays the caller's
     */
    public AllocatorMetrics(Environment environment) {
        this(environment, OPEN_TELEMETRY);
    }

    /**
     * Creates a binder on other names.
     *
     * @param environment the environment, which stays the caller's
     * @param prefix what stands before {@code .used} and the rest of each name
     * @throws IllegalArgumentException if the prefix is blank
     */
    public AllocatorMetrics(Environment environment, String prefix) {
        if (prefix.isBlank()) {
            throw new IllegalArgumentException("the prefix of the meters is blank");
        }
        this.environment = environment;
        this.prefix = prefix;
    }

    /**
     * Adds the meters to a registry, and follows what changes until this binder or the environment is closed: then the
     * meters are removed. If this binder has added them to the registry before, it replaces them. Another binder of the
     * same environment adds all pools once more: use one.
     *
     * @param registry the registry
     * @throws IllegalStateException if the environment is closed
     */
    @Override
    public void bindTo(MeterRegistry registry) {
        synchronized (observations) {
            final Observation earlier = observations.remove(registry);
            if (earlier != null) {
                earlier.close();
            }
            observations.put(registry, environment.observe(new Meters(registry)));
        }
    }

    /** Removes the meters from all registries. A second call does nothing. */
    @Override
    public void close() {
        final List<Observation> ended;
        synchronized (observations) {
            ended = List.copyOf(observations.values());
            observations.clear();
        }
        ended.forEach(Observation::close);
    }

    /** The allocators whose sum a meter shows: one, unless the registry has one meter for several names. */
    private record Pools(List<ObservedAllocator> allocators, ToDoubleFunction<AllocatorStats> figure) {
        Pools(ToDoubleFunction<AllocatorStats> figure) {
            this(new CopyOnWriteArrayList<>(), figure);
        }

        double sum() {
            return allocators.stream()
                    .mapToDouble(allocator -> figure.applyAsDouble(allocator.stats()))
                    .sum();
        }
    }

    /** The meters in one registry. The environment makes one call at a time. */
    private final class Meters implements AllocatorListener {
        private final MeterRegistry registry;
        private final Map<ObservedAllocator, List<Meter>> registered = new HashMap<>();

        Meters(MeterRegistry registry) {
            this.registry = registry;
        }

        @Override
        public void added(ObservedAllocator allocator) {
            synchronized (registry) { // other environments have their pools in it as well
                register(allocator, SHOWN.computeIfAbsent(registry, _ -> new HashMap<>()));
            }
        }

        private void register(ObservedAllocator allocator, Map<Meter, Pools> shown) {
            final Set<Meter> taken = new HashSet<>(registry.getMeters());
            final List<Meter> gauges = new ArrayList<>();
            registered.put(allocator, gauges);
            final Pools used = new Pools(AllocatorStats::bytesInUse);
            final String name = poolName(allocator);
            final Gauge first = gauge("used", "Bytes of live blocks", allocator, name, used);
            Gauge gauge = first;
            String unique = name;
            // A registry returns the meter that it has; if it ignores the tag, that is the same one for each name.
            for (int i = 2; taken.contains(gauge); i++) {
                unique = name + " (" + i + ")";
                gauge = gauge("used", "Bytes of live blocks", allocator, unique, used);
                if (gauge.equals(first)) {
                    break;
                }
            }
            add(allocator, gauge, used, shown, taken, gauges);
            final Pools held = new Pools(AllocatorStats::bytesHeld);
            gauge = gauge("committed", "Bytes taken from the device", allocator, unique, held);
            add(allocator, gauge, held, shown, taken, gauges);
            if (allocator.stats().limit() != AllocatorStats.UNLIMITED) {
                final Pools limit = new Pools(AllocatorStats::limit);
                gauge = gauge("limit", "The most bytes that are taken", allocator, unique, limit);
                add(allocator, gauge, limit, shown, taken, gauges);
            }
            final Pools failed = new Pools(AllocatorStats::numFailedAllocs);
            final Meter counter = FunctionCounter.builder(prefix + ".failed.allocations", failed, Pools::sum)
                    .description("Allocations that failed for lack of memory")
                    .tag("jvm.memory.type", allocator.memory().deviceType().id())
                    .tag(POOL_NAME, unique)
                    .register(registry);
            add(allocator, counter, failed, shown, taken, gauges);
        }

        /** Adds an allocator to what a meter shows, unless the meter is of other code. */
        private void add(
                ObservedAllocator allocator,
                Meter gauge,
                Pools pools,
                Map<Meter, Pools> shown,
                Set<Meter> taken,
                List<Meter> gauges) {
            if (!taken.contains(gauge)) {
                shown.put(gauge, pools);
            }
            final Pools ours = shown.get(gauge);
            if (ours != null) {
                ours.allocators().add(allocator);
                gauges.add(gauge);
            }
        }

        private Gauge gauge(
                String name, String description, ObservedAllocator allocator, String poolName, Pools pools) {
            return Gauge.builder(prefix + "." + name, pools, Pools::sum)
                    .description(description)
                    .baseUnit(BaseUnits.BYTES)
                    .tag("jvm.memory.type", allocator.memory().deviceType().id())
                    .tag(POOL_NAME, poolName)
                    .register(registry);
        }

        private static String poolName(ObservedAllocator allocator) {
            final String user =
                    allocator.users().stream().findFirst().map(User::owner).orElse("");
            return (allocator.provider() + " " + allocator.memory() + " " + user).strip();
        }

        @Override
        public void removed(ObservedAllocator allocator) {
            synchronized (registry) {
                final Map<Meter, Pools> shown = SHOWN.getOrDefault(registry, Map.of());
                for (final Meter gauge : registered.getOrDefault(allocator, List.of())) {
                    final Pools pools = shown.get(gauge);
                    if (pools != null
                            && pools.allocators().remove(allocator)
                            && pools.allocators().isEmpty()) {
                        shown.remove(gauge);
                        registry.remove(gauge);
                    }
                }
                registered.remove(allocator);
                if (shown.isEmpty()) {
                    SHOWN.remove(registry);
                }
            }
        }
    }
}
