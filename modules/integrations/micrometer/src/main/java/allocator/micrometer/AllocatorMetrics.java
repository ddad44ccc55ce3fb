package allocator.micrometer;

import allocator.runtime.Environment;
import allocator.runtime.metrics.AllocatorListener;
import allocator.runtime.metrics.Observation;
import allocator.runtime.metrics.ObservedAllocator;
import allocator.runtime.snapshot.Snapshot.User;
import allocator.spi.AllocatorStats;
import allocator.spi.AllocatorStats.Counter;
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
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/**
 * Binds the allocators of an environment, or of what else can be observed, to registries of Micrometer, on
 * OpenTelemetry's names: for each instance of a provider's allocator, while it is in use.
 *
 * <p>The gauges are {@code jvm.memory.used} (bytes of live blocks, padding included), {@code .committed} (bytes taken
 * from the device), {@code .limit} ({@code arena.max_mem}, if there is one), and, where the allocator counts them,
 * {@code .shared} (bytes that equal weights with one copy save) and {@code .asleep} (bytes of weights that are asleep).
 * {@code .failed.allocations} counts those that the allocator failed; budgets of sessions reject theirs before.
 *
 * <p>Each has the tags {@code jvm.memory.type}, the kind of the device such as {@code gpu}, and
 * {@code jvm.memory.pool.name}: provider, memory and user, such as {@code cuda-arena Cuda (gpu:0) bert}, with a number
 * if the registry has another one of that name, also one of another environment or binder. An instance with several
 * users has the name of its first. Where the registry's filters make one meter of several, it shows their sum until the
 * last is released.
 *
 * <p>Prometheus wants the same tags of all meters of one name. Micrometer's own {@code JvmMemoryMetrics} has these with
 * its convention for OpenTelemetry; beside its older convention use another {@linkplain #AllocatorMetrics(Function,
 * String) prefix}.
 *
 * <p>Nothing is read until a registry asks. Safe for use by several threads.
 */
public final class AllocatorMetrics implements MeterBinder, AutoCloseable {
    /** The prefix of OpenTelemetry's names. */
    public static final String OPEN_TELEMETRY = "jvm.memory";

    private static final String POOL_NAME = "jvm.memory.pool.name";

    /** What some allocators count beyond others: name and description. */
    private static final Map<String, String> OWN = Map.of(
            "shared", "Bytes that equal weights with one copy save", "asleep", "Bytes of weights that are asleep");

    /** What the meters of this module show in each registry, of all binders: a registry may have one for several. */
    private static final Map<MeterRegistry, Map<Meter, Pools>> SHOWN =
            Collections.synchronizedMap(new IdentityHashMap<>());

    private final Function<AllocatorListener, Observation> source;
    private final String prefix;

    /** Its lock is held while meters are added. */
    private final IdentityHashMap<MeterRegistry, Observation> observations = new IdentityHashMap<>();

    /**
     * Creates a binder on OpenTelemetry's names.
     *
     * @param environment the environment, which stays the caller's
     */
    public AllocatorMetrics(Environment environment) {
        this(environment::observe, OPEN_TELEMETRY);
    }

    /**
     * Creates a binder on other names, or of other allocators than an environment's.
     *
     * @param source begins an observation: {@code environment::observe}, or that of an installation for ONNX Runtime
     * @param prefix what stands before {@code .used} and the rest of each name
     * @throws IllegalArgumentException if the prefix is blank
     */
    public AllocatorMetrics(Function<AllocatorListener, Observation> source, String prefix) {
        if (prefix.isBlank()) {
            throw new IllegalArgumentException("the prefix of the meters is blank");
        }
        this.source = Objects.requireNonNull(source, "source");
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
            observations.put(registry, source.apply(new Meters(registry)));
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
            final BiConsumer<Meter, Pools> show = (meter, pools) -> {
                if (!taken.contains(meter)) { // which may be of other code
                    shown.put(meter, pools);
                }
                final Pools ours = shown.get(meter);
                if (ours != null) {
                    ours.allocators().add(allocator);
                    gauges.add(meter);
                }
            };
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
            show.accept(gauge, used);
            final Pools held = new Pools(AllocatorStats::bytesHeld);
            gauge = gauge("committed", "Bytes taken from the device", allocator, unique, held);
            show.accept(gauge, held);
            if (allocator.stats().limit() != AllocatorStats.UNLIMITED) {
                final Pools limit = new Pools(AllocatorStats::limit);
                gauge = gauge("limit", "The most bytes that are taken", allocator, unique, limit);
                show.accept(gauge, limit);
            }
            for (final String own : OWN.keySet()) {
                if (allocator.stats().counter(own + "Bytes").isPresent()) {
                    final Pools bytes = new Pools(stats ->
                            stats.counter(own + "Bytes").map(Counter::value).orElse(0L));
                    gauge = gauge(own, OWN.get(own), allocator, unique, bytes);
                    show.accept(gauge, bytes);
                }
            }
            final Pools failed = new Pools(AllocatorStats::numFailedAllocs);
            final Meter counter = FunctionCounter.builder(prefix + ".failed.allocations", failed, Pools::sum)
                    .description("Allocations that failed for lack of memory")
                    .tag("jvm.memory.type", allocator.memory().deviceType().id())
                    .tag(POOL_NAME, unique)
                    .register(registry);
            show.accept(counter, failed);
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
