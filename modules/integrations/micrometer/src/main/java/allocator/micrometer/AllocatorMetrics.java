package allocator.micrometer;

import allocator.runtime.Environment;
import allocator.runtime.metrics.AllocatorListener;
import allocator.runtime.metrics.Observation;
import allocator.runtime.metrics.ObservedAllocator;
import allocator.runtime.snapshot.Snapshot.User;
import allocator.spi.AllocatorStats;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.BaseUnits;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/**
 * Binds the allocators of an environment to registries of Micrometer, on OpenTelemetry's names: gauges of bytes in use,
 * held and allowed for each instance of a provider's allocator, while it is in use.
 *
 * <table>
 *   <caption>Meters</caption>
 *   <tr><th>meter</th><th>is</th></tr>
 *   <tr><td>{@code jvm.memory.used}</td><td>bytes of live blocks, padding included</td></tr>
 *   <tr><td>{@code jvm.memory.committed}</td><td>bytes taken from the device</td></tr>
 *   <tr><td>{@code jvm.memory.limit}</td><td>{@code arena.max_mem}; no meter if there is no limit</td></tr>
 * </table>
 *
 * <p>Each has the tags {@code jvm.memory.type}, the kind of the device such as {@code gpu}, and
 * {@code jvm.memory.pool.name}: provider, memory and user, such as {@code cuda-arena Cuda (gpu:0) bert}, with a number
 * if the registry has another one of that name, also one of another environment or binder. An instance with several
 * users has the name of its first.
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
     * @param prefix what stands before {@code .used}, {@code .committed} and {@code .limit}
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
                register(allocator);
            }
        }

        private void register(ObservedAllocator allocator) {
            final List<Meter> meters = new ArrayList<>();
            registered.put(allocator, meters);
            final Tags tags =
                    Tags.of("jvm.memory.type", allocator.memory().deviceType().id(), POOL_NAME, poolName(allocator));
            meters.add(gauge("used", "Bytes of live blocks", tags, allocator, AllocatorStats::bytesInUse));
            meters.add(gauge("committed", "Bytes taken from the device", tags, allocator, AllocatorStats::bytesHeld));
            if (allocator.stats().limit() != AllocatorStats.UNLIMITED) {
                meters.add(gauge("limit", "The most bytes that are taken", tags, allocator, AllocatorStats::limit));
            }
        }

        private Gauge gauge(
                String name,
                String description,
                Tags tags,
                ObservedAllocator allocator,
                ToDoubleFunction<AllocatorStats> figure) {
            return Gauge.builder(prefix + "." + name, allocator, from -> figure.applyAsDouble(from.stats()))
                    .description(description)
                    .baseUnit(BaseUnits.BYTES)
                    .tags(tags)
                    .register(registry);
        }

        /** Returns a name that no other pool of the registry has. */
        private String poolName(ObservedAllocator allocator) {
            final String user =
                    allocator.users().stream().findFirst().map(User::owner).orElse("");
            final String name = (allocator.provider() + " " + allocator.memory() + " " + user).strip();
            String unique = name;
            for (int i = 2; isTaken(unique); i++) {
                unique = name + " (" + i + ")";
            }
            return unique;
        }

        private boolean isTaken(String poolName) {
            return registry.find(prefix + ".used").tag(POOL_NAME, poolName).meter() != null;
        }

        @Override
        public void removed(ObservedAllocator allocator) {
            final List<Meter> gone = registered.remove(allocator);
            if (gone != null) {
                gone.forEach(registry::remove);
            }
        }
    }
}
