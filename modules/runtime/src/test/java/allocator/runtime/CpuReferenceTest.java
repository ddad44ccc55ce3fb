package allocator.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.runtime.AllocatorReport.Source;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceType;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryLocation;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.testkit.FakeMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Cases of ONNX Runtime's tests that need a real arena, on the CPU provider as it is found on the module path. */
class CpuReferenceTest {
    private static final MemoryLocation CPU = FakeMemory.location(DeviceType.CPU, 0);

    private final Environment environment = Environment.builder().build();
    private final ProviderDevice device = environment.devices().getFirst();

    @AfterEach
    void close() {
        environment.close();
    }

    private ManagedAllocator replace(Map<String, String> settings) {
        return environment.createSharedAllocator(
                device, device.device().defaultMemory().orElseThrow(), AllocatorOptions.of(settings));
    }

    @Test
    void theProviderIsFoundOnTheModulePath() {
        assertThat(environment.providers()).singleElement().satisfies(report -> {
            assertThat(report.name()).isEqualTo("cpu-reference");
            assertThat(report.module()).isEqualTo("java.allocator.cpu.reference");
            assertThat(report.isRegistered()).isTrue();
        });
    }

    @Test
    void anAllowListRejectsItByModule() {
        try (Environment strict =
                Environment.builder().allowModules("some.other").build()) {
            assertThat(strict.providers())
                    .singleElement()
                    .satisfies(report -> assertThat(report.failure().orElseThrow())
                            .contains("java.allocator.cpu.reference is not on the allow-list"));
        }
    }

    /** AddArenaToSharedAllocator. */
    @Test
    void addArenaToSharedAllocator() {
        assertThat(environment.sharedAllocator(CPU)).isPresent();
        final ManagedAllocator arena = replace(Map.of("arena.initial_chunk_size_bytes", "25600"));
        arena.free(arena.alloc(16));
        assertThat(arena.stats().toMap())
                .containsEntry("NumAllocs", "1")
                .containsEntry("NumArenaExtensions", "1")
                .containsEntry("TotalAllocated", "25600");
        environment.releaseSharedAllocator(CPU);
        assertThat(environment.sharedAllocator(CPU)).isEmpty();
    }

    /** SharedAllocatorAllocAndFree, and CPUAllocatorTest: memory can be written. */
    @Test
    void memoryIsWritable() {
        final ManagedAllocator allocator = environment.sharedAllocator(CPU).orElseThrow();
        assertThat(allocator.alloc(0)).isZero();
        allocator.free(0);
        final long address = allocator.alloc(1024);
        final MemorySegment segment = allocator.segment(address, 1024);
        segment.fill((byte) 0x5c);
        assertThat(segment.get(ValueLayout.JAVA_BYTE, 1023)).isEqualTo((byte) 0x5c);
        allocator.free(address);
    }

    /** get_allocator_cpu. */
    @Test
    void statisticsOfASessionsArena() {
        try (Session session = environment.openSession(SessionOptions.builder()
                .option("ep.cpu-reference.arena.extend_strategy", "1")
                .build())) {
            final ManagedAllocator allocator = session.allocator();
            allocator.free(allocator.alloc(1024));
            final long live = allocator.alloc(1024);
            final AllocatorStats stats = allocator.stats();
            assertThat(stats.limit()).isEqualTo(-1);
            assertThat(stats.bytesInUse()).isEqualTo(1024);
            assertThat(stats.peakBytesInUse()).isEqualTo(1024);
            assertThat(stats.maxAllocSize()).isEqualTo(1024);
            assertThat(stats.numAllocs()).isEqualTo(2);
            assertThat(stats.numReserves()).isZero();
            allocator.free(live);
        }
    }

    /** TestArenaShrinkageAfterRun. */
    @Test
    void arenaShrinkageAfterRun() {
        try (Session session = environment.openSession(SessionOptions.builder()
                .option("ep.cpu-reference.arena.extend_strategy", "1")
                .build())) {
            final ManagedAllocator allocator = session.allocator();
            final long weights = allocator.alloc(4096);
            final long before = allocator.stats().bytesHeld();
            assertThat(allocator.stats().numArenaExtensions()).isOne();
            final Run.Work<RuntimeException> work = run -> {
                final long first = run.allocator().alloc(10_000);
                final long second = run.allocator().alloc(20_000);
                run.allocator().free(first);
                run.allocator().free(second);
            };
            session.run(RunOptions.DEFAULT, work);
            assertThat(allocator.stats().numArenaExtensions()).isEqualTo(3);
            assertThat(allocator.stats().numArenaShrinkages()).isZero();
            final RunReport report =
                    session.run(RunOptions.builder().shrink("cpu:0").build(), work);
            assertThat(allocator.stats().numArenaExtensions()).isOne();
            assertThat(allocator.stats().numArenaShrinkages()).isEqualTo(2);
            assertThat(allocator.stats().bytesHeld()).isEqualTo(before);
            assertThat(report.shrunk().getFirst().report().regionsReleased()).isEqualTo(2);
            allocator.free(weights);
        }
    }

    @Test
    void theLimitOfASessionCoversItsInitializers() {
        try (Session session = environment.openSession(SessionOptions.builder()
                .option("ep.cpu-reference.arena.max_mem", "65536")
                .build())) {
            final ManagedAllocator allocator = session.allocator();
            assertThatThrownBy(() -> session.allocInitializer(200_000)).isInstanceOf(OutOfMemoryException.class);
            final long weights = session.allocInitializer(60_000);
            assertThat(allocator.stats().bytesHeld()).isEqualTo(60_000);
            assertThatThrownBy(() -> allocator.alloc(8192)).isInstanceOf(OutOfMemoryException.class);
            allocator.free(weights);
            allocator.free(allocator.alloc(8192));
        }
    }

    /** Six hundred MiB were allocated and freed; a shrink of the session returned nothing, and no key changed that. */
    @Test
    void aShrinkReturnsTheFirstRegionIfTheSessionSaysSo() {
        try (Session session = environment.openSession(SessionOptions.builder()
                .option("ep.cpu-reference.arena.keep_first_region", "0")
                .build())) {
            session.allocator().free(session.allocator().alloc(600L << 20));
            final ShrinkReport report = session.shrink(CPU);
            assertThat(report.bytesReleased()).isEqualTo(1L << 30);
            assertThat(report).hasToString("1.0 GiB (1,073,741,824 bytes) in 1 region returned, 0 bytes held");
        }
    }

    @Test
    void aShrinkThatKeepsTheFirstRegionNamesTheOption() {
        try (Session session = environment.openSession(SessionOptions.builder()
                .option("ep.cpu-reference.arena.exclusive", "1")
                .build())) {
            session.allocator().free(session.allocator().alloc(600L << 20));
            assertThat(session.shrink(CPU))
                    .hasToString("0 bytes returned, 1.0 GiB (1,073,741,824 bytes) held; 1.0 GiB (1,073,741,824 bytes)"
                            + " in 1 region: the first region, which arena.keep_first_region=0 returns");
        }
    }

    @Test
    void initializersAreReservedAsideOfTheArena() {
        try (Session session = environment.openSession(SessionOptions.builder()
                .option("session.use_device_allocator_for_initializers", "1")
                .build())) {
            final ManagedAllocator readOnly = session.initializerAllocator(CPU).orElseThrow();
            assertThat(readOnly.info().isReadOnly()).isTrue();
            readOnly.free(session.allocInitializer(24));
            final long reserved = session.allocator().reserve(24);
            assertThat(session.allocator().stats().numReserves()).isOne();
            assertThat(session.allocator().stats().bytesInUse()).isEqualTo(24);
            session.allocator().free(reserved);
        }
    }

    @Test
    void aLimitOfASessionIsItsOwnAndExhaustionIsTyped() {
        try (Session limited = environment.openSession(SessionOptions.builder()
                        .option("ep.cpu-reference.arena.max_mem", "65536")
                        .build());
                Session shared = environment.openSession(SessionOptions.DEFAULT)) {
            assertThatThrownBy(() -> limited.allocator().alloc(65537)).isInstanceOf(OutOfMemoryException.class);
            shared.allocator().free(shared.allocator().alloc(65537));
            assertThat(limited.report().allocators().getFirst().source()).isEqualTo(Source.EXCLUSIVE);
        }
    }

    /** Every numeric key at the edges: accepted and working, or rejected by key, value, range and origin. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "-1",
                "0",
                "1",
                "255",
                "256",
                "257",
                "1000000",
                "2147483648",
                "9223372036854775807",
                "text",
                "",
                " 1",
                "1 "
            })
    void everyKeyAtTheEdgesOfItsRange(String value) {
        final List<String> keys = List.of(
                "arena.max_mem",
                "arena.initial_chunk_size_bytes",
                "arena.max_dead_bytes_per_chunk",
                "arena.initial_growth_chunk_size_bytes",
                "arena.max_power_of_two_extend_bytes",
                "arena.extend_strategy");
        for (final String key : keys) {
            try (Session session = environment.openSession(SessionOptions.builder()
                    .option("ep.cpu-reference." + key, value)
                    .build())) {
                useALittle(session.allocator());
            } catch (InvalidOptionException e) {
                assertThat(e.key()).isEqualTo("ep.cpu-reference." + key);
                assertThat(e.value()).isEqualTo(value);
                assertThat(e.origin()).isEqualTo("session");
                assertThat(e.accepted()).isNotBlank();
            }
        }
    }

    private static void useALittle(ManagedAllocator allocator) {
        for (final long byteSize : new long[] {100, 3000, 100}) {
            try {
                allocator.free(allocator.alloc(byteSize));
            } catch (OutOfMemoryException e) {
                assertThat(e.shortage().limit()).isPositive();
            }
            allocator.shrink();
        }
    }
}
