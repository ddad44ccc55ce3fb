package allocator.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import allocator.runtime.Environment;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.runtime.metrics.AllocatorListener;
import allocator.runtime.metrics.Observation;
import allocator.runtime.metrics.ObservedAllocator;
import allocator.runtime.snapshot.Snapshot.User;
import allocator.spi.AllocatorStats;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OutOfMemoryException;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.config.MeterFilter;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Meters in a registry of Prometheus, as it is scraped. */
class AllocatorMetricsTest {
    private static final int MIB = 1 << 20;

    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final Environment environment = Environment.builder().build();

    @AfterEach
    void nothingIsLeft() {
        environment.close();
        assertThat(registry.getMeters()).isEmpty();
        registry.close();
    }

    private Session open(String name, int limit) {
        return environment.openSession(SessionOptions.builder()
                .name(name)
                .provider("cpu-reference")
                .option("ep.cpu-reference.arena.exclusive", "1")
                .option("ep.cpu-reference.arena.max_mem", Integer.toString(limit))
                .build());
    }

    private static String labels(String pool) {
        return "{jvm_memory_pool_name=\"" + pool + "\",jvm_memory_type=\"cpu\"} ";
    }

    @Test
    void isAModule() {
        assertThat(AllocatorMetrics.class.getModule().getName()).isEqualTo("java.allocator.micrometer");
    }

    @Test
    void usedCommittedAndLimitAreScraped() {
        try (AllocatorMetrics metrics = new AllocatorMetrics(environment);
                Session session = open("bert", 8 * MIB)) {
            metrics.bindTo(registry);
            final ManagedAllocator allocator = session.allocator();
            final long address = allocator.alloc(1024);
            final String pool = "cpu-reference Cpu (cpu:0) bert";
            assertThat(registry.scrape())
                    .contains("jvm_memory_used_bytes" + labels(pool) + "1024.0")
                    .contains("jvm_memory_committed_bytes" + labels(pool)
                            + (double) allocator.stats().bytesHeld())
                    .contains("jvm_memory_limit_bytes" + labels(pool) + "8388608.0")
                    .contains("jvm_memory_used_bytes" + labels("cpu-reference Cpu (cpu:0) environment"))
                    .doesNotContain("jvm_memory_limit_bytes" + labels("cpu-reference Cpu (cpu:0) environment"));
            allocator.free(address);
            assertThat(registry.scrape()).contains("jvm_memory_used_bytes" + labels(pool) + "0.0");
        }
    }

    @Test
    void allocationsThatFailedAreCounted() {
        try (AllocatorMetrics metrics = new AllocatorMetrics(environment);
                Session session = open("bert", MIB)) {
            metrics.bindTo(registry);
            final String counter = "jvm_memory_failed_allocations_total" + labels("cpu-reference Cpu (cpu:0) bert");
            assertThat(registry.scrape()).contains(counter + "0.0");
            assertThatExceptionOfType(OutOfMemoryException.class)
                    .isThrownBy(() -> session.allocator().alloc(2 * MIB));
            assertThat(registry.scrape()).contains(counter + "1.0");
        }
    }

    /** As that of an installation for ONNX Runtime. */
    private record Observed(AllocatorStats stats) implements ObservedAllocator {
        @Override
        public long number() {
            return 1;
        }

        @Override
        public String provider() {
            return "cuda-arena";
        }

        @Override
        public MemoryInfo memory() {
            return new MemoryInfo(
                    "Cuda", new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT), 256, AllocatorType.DEVICE);
        }

        @Override
        public List<User> users() {
            return List.of(new User("environment", 2));
        }

        Observation observe(AllocatorListener listener) {
            listener.added(this);
            return () -> listener.removed(this);
        }
    }

    @Test
    void whatSleepsAndWhatIsSavedOfOtherAllocatorsThanAnEnvironmentsIsScraped() {
        final Observed observed = new Observed(new AllocatorStats.Builder()
                .counter("sharedBytes", 3 * MIB, AllocatorStats.Unit.BYTES, false)
                .counter("asleepBytes", 5 * MIB, AllocatorStats.Unit.BYTES, false)
                .build());
        final String labels = labels("cuda-arena Cuda (cpu:0) environment");
        try (AllocatorMetrics metrics = new AllocatorMetrics(observed::observe, AllocatorMetrics.OPEN_TELEMETRY)) {
            metrics.bindTo(registry);
            assertThat(registry.scrape())
                    .contains("jvm_memory_shared_bytes" + labels + "3145728.0")
                    .contains("jvm_memory_asleep_bytes" + labels + "5242880.0");
        }
        final Observed other = new Observed(AllocatorStats.NONE);
        try (AllocatorMetrics metrics = new AllocatorMetrics(other::observe, AllocatorMetrics.OPEN_TELEMETRY)) {
            metrics.bindTo(registry);
            assertThat(registry.scrape()).contains("jvm_memory_used_bytes").doesNotContain("shared", "asleep");
        }
    }

    @Test
    void sessionsComeAndGo() {
        try (AllocatorMetrics metrics = new AllocatorMetrics(environment)) {
            metrics.bindTo(registry);
            final int shared = registry.getMeters().size();
            try (Session first = open("same", MIB);
                    Session second = open("same", MIB)) {
                assertThat(first.allocator().isSameInstanceAs(second.allocator()))
                        .isFalse();
                assertThat(registry.scrape())
                        .contains(labels("cpu-reference Cpu (cpu:0) same"))
                        .contains(labels("cpu-reference Cpu (cpu:0) same (2)"));
            }
            assertThat(registry.getMeters()).hasSize(shared);
        }
    }

    @Test
    void poolsOfTwoEnvironmentsInOneRegistryDiffer() {
        final String pool = "cpu-reference Cpu (cpu:0) environment";
        try (Environment other = Environment.builder().build();
                AllocatorMetrics ofOther = new AllocatorMetrics(other)) {
            final AllocatorMetrics metrics = new AllocatorMetrics(environment);
            metrics.bindTo(registry);
            ofOther.bindTo(registry);
            assertThat(registry.scrape()).contains(labels(pool), labels(pool + " (2)"));
            metrics.close();
            assertThat(registry.scrape()).contains(labels(pool + " (2)")).doesNotContain(labels(pool));
        }
    }

    @Test
    void aRegistryIsBoundOnce() {
        final AllocatorMetrics metrics = new AllocatorMetrics(environment);
        metrics.bindTo(registry);
        final int meters = registry.getMeters().size();
        metrics.bindTo(registry);
        assertThat(registry.getMeters()).hasSize(meters);
        metrics.close();
        assertThat(registry.getMeters()).isEmpty();
        metrics.bindTo(registry);
        assertThat(registry.getMeters()).hasSize(meters);
        metrics.close();
    }

    @Test
    void twoBindersOfOneRegistryEndOneByOne() {
        final AllocatorMetrics first = new AllocatorMetrics(environment);
        first.bindTo(registry);
        final int meters = registry.getMeters().size();
        final AllocatorMetrics second = new AllocatorMetrics(environment);
        second.bindTo(registry);
        second.close();
        assertThat(registry.getMeters()).hasSize(meters);
        first.close();
    }

    @Test
    void sessionsWhoseTagsAreIgnoredShareAMeterThatShowsTheirSumUntilTheLastIsClosed() {
        registry.config().meterFilter(MeterFilter.ignoreTags("jvm.memory.pool.name"));
        try (AllocatorMetrics metrics = new AllocatorMetrics(environment)) {
            metrics.bindTo(registry);
            try (Session first = open("same", MIB)) {
                try (Session second = open("same", MIB)) {
                    assertThat(registry.get("jvm.memory.limit").gauge().value()).isEqualTo(2.0 * MIB);
                    assertThat(first.isClosed() || second.isClosed()).isFalse();
                }
                assertThat(registry.get("jvm.memory.limit").gauge().value()).isEqualTo(1.0 * MIB);
            }
            assertThat(registry.find("jvm.memory.limit").gauge()).isNull();
        }
    }

    @Test
    void sessionsOfANameHaveMetersOfTheirOwnWhereAFilterRenamesThem() {
        registry.config().meterFilter(new MeterFilter() {
            @Override
            public Meter.Id map(Meter.Id id) {
                return id.withName("app." + id.getName());
            }
        });
        try (AllocatorMetrics metrics = new AllocatorMetrics(environment)) {
            metrics.bindTo(registry);
            try (Session first = open("same", MIB);
                    Session second = open("same", 2 * MIB)) {
                assertThat(registry.scrape())
                        .contains("app_jvm_memory_limit_bytes" + labels("cpu-reference Cpu (cpu:0) same") + "1048576.0")
                        .contains("app_jvm_memory_limit_bytes" + labels("cpu-reference Cpu (cpu:0) same (2)")
                                + "2097152.0");
                assertThat(first.isClosed() || second.isClosed()).isFalse();
            }
        }
    }

    @Test
    void aMeterOfOtherCodeIsLeftAlone() {
        registry.config().meterFilter(MeterFilter.ignoreTags("jvm.memory.pool.name", "jvm.memory.type"));
        final Gauge other =
                Gauge.builder("jvm.memory.used", () -> 7).baseUnit("bytes").register(registry);
        try (AllocatorMetrics metrics = new AllocatorMetrics(environment)) {
            metrics.bindTo(registry);
        }
        assertThat(registry.getMeters()).containsExactly(other);
        registry.clear();
    }

    @Test
    void hostileNamesAreEscaped() {
        try (AllocatorMetrics metrics = new AllocatorMetrics(environment);
                Session session = open("a\"} 1\njvm_memory_used_bytes{b=\"", MIB)) {
            metrics.bindTo(registry);
            assertThat(session.isClosed()).isFalse();
            assertThat(registry.scrape())
                    .contains(labels("cpu-reference Cpu (cpu:0) a\\\"} 1\\njvm_memory_used_bytes{b=\\\""));
        }
    }

    @Test
    void theMetersOfTheJvmStandBesideThem() {
        final JvmMemoryMetrics ofJvm = new JvmMemoryMetrics();
        ofJvm.bindTo(registry);
        try (AllocatorMetrics metrics = new AllocatorMetrics(environment::observe, "allocator.memory")) {
            metrics.bindTo(registry);
            assertThat(registry.scrape()).contains("allocator_memory_used_bytes{", "jvm_memory_used_bytes{area=");
        }
        registry.clear();
        assertThatIllegalArgumentException().isThrownBy(() -> new AllocatorMetrics(environment::observe, " "));
    }

    @Test
    void theEndOfTheEnvironmentRemovesThem() {
        final AllocatorMetrics metrics = new AllocatorMetrics(environment);
        metrics.bindTo(registry);
        assertThat(registry.getMeters()).isNotEmpty();
        environment.close();
        assertThat(registry.getMeters()).isEmpty();
        assertThatIllegalStateException().isThrownBy(() -> metrics.bindTo(registry));
        metrics.close();
    }
}
