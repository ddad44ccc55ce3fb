package allocator.runtime;

import static allocator.testkit.FakeMemory.location;
import static allocator.testkit.FakeMemory.memory;
import static allocator.testkit.FakeMemory.readOnly;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.runtime.AllocatorReport.Setting;
import allocator.runtime.AllocatorReport.Source;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OptionKey;
import allocator.spi.UnsupportedMemoryException;
import allocator.testkit.FakeAllocator;
import allocator.testkit.FakeFactory;
import allocator.testkit.Faults;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Path 2: the allocators of a session. */
// One class, since every group shares the fixture of a session over a fake provider.
class SessionTest {
    private static final MemoryLocation GPU = location(DeviceType.GPU, 0);
    private static final MemoryLocation CPU = location(DeviceType.CPU, 0);
    private static final MemoryLocation PINNED = new MemoryLocation(DeviceType.GPU, 0, 0, MemoryType.HOST_ACCESSIBLE);
    private static final MemoryInfo CUDA = memory("Cuda", DeviceType.GPU, 0, MemoryType.DEFAULT);

    private Environment environment = Environments.empty();
    private final FakeFactory gpu = FakeFactory.gpu("CudaArena");
    private final FakeFactory cpu = FakeFactory.cpu("Cpu");

    @AfterEach
    void close() {
        environment.close();
        assertThat(gpu.references()).isZero();
        assertThat(cpu.references()).isZero();
    }

    private Session open(String... keysAndValues) {
        final SessionOptions.Builder options = SessionOptions.builder().name("s");
        for (int i = 0; i < keysAndValues.length; i += 2) {
            options.option(keysAndValues[i], keysAndValues[i + 1]);
        }
        return environment.openSession(options.build());
    }

    @Nested
    class Devices {
        @Test
        void theBestDeviceIsTakenUnlessOneIsNamed() {
            environment.register(cpu);
            environment.register(gpu);
            try (Session best = open();
                    Session named = environment.openSession(
                            SessionOptions.builder().provider("Cpu").build());
                    Session numbered = environment.openSession(
                            SessionOptions.builder().provider("CudaArena", 0).build())) {
                assertThat(best.allocator().info()).isEqualTo(CUDA);
                assertThat(named.allocator().info().name()).isEqualTo("Cpu");
                assertThat(numbered.allocator().info()).isEqualTo(CUDA);
            }
        }

        @Test
        void aMissingDeviceIsRejectedWithTheProvidersThatExist() {
            environment.register(cpu);
            assertThatThrownBy(() -> environment.openSession(
                            SessionOptions.builder().provider("Cuda").build()))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("no provider named \"Cuda\"; the providers are: Cpu (cpu:0)");
            assertThatThrownBy(() -> environment.openSession(
                            SessionOptions.builder().provider("Cpu", 3).build()))
                    .hasMessageContaining("provider \"Cpu\" has no device 3; its devices are: cpu:0");
        }

        /** No release of an allocator ends it. */
        @Test
        void aSessionOfADeviceWithoutMemoryEndsWithItsClose() {
            environment.register(new FakeFactory("Npu").with(DeviceType.NPU, 0));
            final Session session = environment.openSession(
                    SessionOptions.builder().provider("Npu").build());
            assertThat(session.allocators()).isEmpty();
            assertThatThrownBy(() -> environment.unregister("Npu")).isInstanceOf(StillInUseException.class);
            session.close();
            environment.unregister("Npu");
        }

        @Test
        void withoutAnyProviderTheErrorSaysSo() {
            assertThatThrownBy(SessionTest.this::open)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageStartingWith("no device was found: no provider was found: no place was searched")
                    .hasMessageEndingWith("such as java-allocator-cpu-reference");
        }

        @Test
        void theFirstProviderOfAMemoryWinsAndNothingIsMadeInVain() {
            final FakeFactory pool = FakeFactory.gpu("CudaPool");
            environment.register(gpu);
            environment.register(pool);
            final int before = gpu.created().size();
            try (Session session = environment.openSession(SessionOptions.builder()
                    .provider("CudaPool")
                    .provider("CudaArena")
                    .build())) {
                assertThat(session.allocators())
                        .allSatisfy(allocator ->
                                assertThat(allocator.report().provider()).isEqualTo("CudaPool"));
                assertThat(session.allocators()).hasSize(2);
                assertThat(gpu.created()).hasSize(before);
            }
        }

        /** The cases of ONNX Runtime's default memory device. */
        @Test
        void theDefaultAllocatorIsThatOfTheFirstDevice() {
            final MemoryInfo pinned = memory("Pinned", DeviceType.GPU, 0, MemoryType.HOST_ACCESSIBLE);
            environment.register(new FakeFactory("OnlyPinned").with(DeviceType.GPU, 0, pinned));
            environment.register(new FakeFactory("None").with(DeviceType.NPU, 0));
            environment.register(cpu);
            try (Session session = environment.openSession(
                            SessionOptions.builder().provider("OnlyPinned").build());
                    Session nothing = environment.openSession(
                            SessionOptions.builder().provider("None").build());
                    Session second = environment.openSession(SessionOptions.builder()
                            .provider("None")
                            .provider("Cpu")
                            .build())) {
                assertThat(session.allocator().info()).isEqualTo(pinned);
                assertThat(nothing.allocators()).isEmpty();
                assertThatThrownBy(nothing::allocator)
                        .isInstanceOf(UnsupportedMemoryException.class)
                        .hasMessageContaining("No requested allocator available");
                assertThat(second.allocator().info().name()).isEqualTo("Cpu");
            }
        }

        @Test
        void aShrinkableAllocatorIsAnArenaAndAnotherIsNot() {
            environment.register(cpu);
            cpu.returned(allocator -> {
                ((FakeAllocator) allocator).spiLevel(24);
                return allocator;
            });
            environment.register(gpu);
            try (Session arena = open();
                    Session plain = environment.openSession(
                            SessionOptions.builder().provider("Cpu").build())) {
                assertThat(arena.allocator().isArena()).isTrue();
                assertThat(plain.allocator().isArena()).isFalse();
                assertThatThrownBy(() -> plain.shrink(CPU))
                        .isInstanceOf(UnsupportedMemoryException.class)
                        .hasMessageContaining("an allocator but no arena for cpu:0");
            }
        }
    }

    @Nested
    class Initializers {
        @Test
        void theyUseTheReadOnlyMemoryWhereThereIsOne() {
            environment.register(gpu);
            environment.register(cpu);
            try (Session session = open()) {
                assertThat(session.initializerAllocator(GPU).orElseThrow().info())
                        .isEqualTo(readOnly("CudaReadOnly", DeviceType.GPU, 0));
                assertThat(session.initializerAllocator(PINNED)
                                .orElseThrow()
                                .info()
                                .name())
                        .as("falls back to the normal memory")
                        .isEqualTo("CudaPinned");
                assertThat(session.initializerAllocator(CPU)).isEmpty();
                assertThat(session.allocators())
                        .extracting(a -> a.info().name())
                        .doesNotContain("CudaReadOnly");
            }
        }

        @Test
        void aLimitCoversThem() {
            environment.register(gpu);
            try (Session session = open("ep.cudaarena.arena.max_mem", "65536")) {
                final ManagedAllocator allocator = session.allocator();
                assertThat(session.initializerAllocator(GPU)).containsSame(allocator);
                allocator.free(session.allocInitializer(24));
                assertThat(allocator.stats().numReserves()).isOne();
                assertThat(session.report().allocators())
                        .extracting(report -> report.memory().name())
                        .containsExactly("Cuda", "CudaPinned");
                assertThat(session.report().initializers())
                        .containsExactly(
                                "initializers: reserves of Cuda (gpu:0), since its arena.max_mem limits them too");
            }
        }

        @Test
        void aLimitOfTheEnvironmentCoversThemWhereItsAllocatorsAreUsed() {
            final Environment limited = Environment.builder()
                    .modulePathProviders(false)
                    .option("ep_factory.CudaArena.arena.max_mem", "65536")
                    .build();
            limited.register(gpu);
            try (limited;
                    Session session = limited.openSession(SessionOptions.builder()
                            .option("session.use_env_allocators", "1")
                            .build())) {
                assertThat(session.initializerAllocator(GPU)).containsSame(session.allocator());
            }
        }

        @ParameterizedTest
        @CsvSource({"1, 1, 0", "0, 0, 1"})
        void theyAreReservedIfTheOptionSaysSo(String value, long reserves, long allocs) {
            environment.register(cpu);
            try (Session session = open("session.use_device_allocator_for_initializers", value)) {
                session.allocator().free(session.allocInitializer(24));
                assertThat(cpu.last().calls("reserve")).isEqualTo(reserves);
                assertThat(cpu.last().calls("alloc")).isEqualTo(allocs);
            }
        }
    }

    @Nested
    class Sharing {
        @Test
        void withoutSettingsOfItsOwnASessionSharesWhatTheProviderShares() {
            environment.register(gpu);
            final ManagedAllocator shared = environment.sharedAllocator(GPU).orElseThrow();
            try (Session first = open();
                    Session second = open()) {
                assertThat(first.allocator().isSameInstanceAs(second.allocator()))
                        .isTrue();
                assertThat(first.allocator().isSameInstanceAs(shared)).isTrue();
                assertThat(first.report().allocators())
                        .allSatisfy(report -> assertThat(report.source()).isEqualTo(Source.CREATED));
            }
        }

        /** AllocatorSharing_EnsureSessionsDontUseSameOrtCreatedAllocator and its opposite. */
        @ParameterizedTest
        @CsvSource({"0, false", "1, true"})
        void withEnvironmentAllocatorsSessionsUseTheSame(String value, boolean same) {
            gpu.sharing(false);
            environment.register(gpu);
            try (Session first = open("session.use_env_allocators", value);
                    Session second = open("session.use_env_allocators", value)) {
                assertThat(first.allocator().isSameInstanceAs(second.allocator()))
                        .isEqualTo(same);
                assertThat(first.allocator()
                                .isSameInstanceAs(
                                        environment.sharedAllocator(GPU).orElseThrow()))
                        .isEqualTo(same);
            }
        }

        @Test
        void environmentAllocatorsOfOtherDevicesComeAlong() {
            environment.register(gpu);
            environment.register(cpu);
            final int created = gpu.created().size() + cpu.created().size();
            try (Session session = open("session.use_env_allocators", "1")) {
                assertThat(session.allocator(CPU)).isPresent();
                assertThat(session.allocator().info()).isEqualTo(CUDA);
                assertThat(gpu.created().size() + cpu.created().size())
                        .as("only the read-only one is made")
                        .isEqualTo(created + 1);
                assertThatThrownBy(() -> environment.unregister("Cpu"))
                        .isInstanceOf(StillInUseException.class)
                        .hasMessageContaining("s is open");
            }
        }

        @Test
        void aSessionKeepsASharedAllocatorThatIsReplaced() {
            environment.register(gpu);
            final Session session = open("session.use_env_allocators", "1");
            final FakeAllocator target = gpu.shared(CUDA);
            final long block = session.allocator().alloc(8);
            environment.createSharedAllocator(environment.devices().getFirst(), CUDA, AllocatorOptions.EMPTY);
            session.allocator().free(session.allocator().alloc(9));
            session.allocator().free(block);
            assertThat(target.isClosed()).isFalse();
            session.close();
            assertThat(target.isClosed()).isTrue();
        }
    }

    /** Order: explicit call, session, environment, default; and which of them is effective. */
    @Nested
    class Precedence {
        private static final String ENV = "ep_factory.CudaArena.arena.max_mem";
        private static final String SESSION = "ep.cudaarena.arena.max_mem";

        @ParameterizedTest(
                name = "environment {0}, explicit {1}, session {2}, use_env {3}: {4} from {5}, effective {6}")
        @CsvSource(
                nullValues = "-",
                value = {
                    "-,    -,    -,    0, 0,    default,       0,    CREATED",
                    "1000, -,    -,    0, 1000, environment,   1000, CREATED",
                    "1000, -,    2000, 0, 2000, session,       2000, EXCLUSIVE",
                    "-,    -,    2000, 0, 2000, session,       2000, EXCLUSIVE",
                    "1000, 3000, -,    0, 3000, explicit call, 3000, ENVIRONMENT",
                    "1000, 3000, 2000, 0, 2000, session,       2000, EXCLUSIVE",
                    "1000, -,    -,    1, 1000, environment,   1000, ENVIRONMENT",
                    "1000, -,    2000, 1, 2000, session,       1000, ENVIRONMENT",
                    "-,    3000, -,    1, 3000, explicit call, 3000, ENVIRONMENT",
                    "-,    -,    2000, 1, 2000, session,       0,    ENVIRONMENT",
                })
        void table(
                String fromEnvironment,
                String explicit,
                String fromSession,
                String useEnvironment,
                String requested,
                String origin,
                String effective,
                Source source) {
            environment.close();
            final EnvironmentBuilder builder = Environment.builder().modulePathProviders(false);
            if (fromEnvironment != null) {
                builder.option(ENV, fromEnvironment);
            }
            environment = builder.build();
            environment.register(gpu);
            if (explicit != null) {
                environment.createSharedAllocator(
                        environment.devices().getFirst(), CUDA, AllocatorOptions.of(Map.of("arena.max_mem", explicit)));
            }
            final SessionOptions.Builder options =
                    SessionOptions.builder().option("session.use_env_allocators", useEnvironment);
            if (fromSession != null) {
                options.option(SESSION, fromSession);
            }
            try (Session session = environment.openSession(options.build())) {
                final AllocatorReport report = session.report().allocators().getFirst();
                assertThat(report.memory()).isEqualTo(CUDA);
                assertThat(report.source()).isEqualTo(source);
                final Setting setting = report.settings().stream()
                        .filter(candidate -> candidate.key().equals("arena.max_mem"))
                        .findFirst()
                        .orElseThrow();
                assertThat(setting.requested()).isEqualTo(requested);
                assertThat(setting.origin()).isEqualTo(origin);
                assertThat(setting.effective()).isEqualTo(effective);
                assertThat(setting.isEffective()).isEqualTo(requested.equals(effective));
            }
        }

        private Setting limitOf(Session session, int ordinal) {
            return session.report().allocators().stream()
                    .filter(report ->
                            report.memory().equals(memory("Cuda", DeviceType.GPU, ordinal, MemoryType.DEFAULT)))
                    .flatMap(report -> report.settings().stream())
                    .filter(setting -> setting.key().equals("arena.max_mem"))
                    .findFirst()
                    .orElseThrow();
        }

        private Session openOnBoth(String... settings) {
            final SessionOptions.Builder options =
                    SessionOptions.builder().provider("CudaArena", 0).provider("CudaArena", 1);
            for (int i = 0; i < settings.length; i += 2) {
                options.option(settings[i], settings[i + 1]);
            }
            return environment.openSession(options.build());
        }

        @Test
        void aSettingOfOneGpuOverridesThatOfAllAndTheReportSaysSo() {
            environment.register(gpu.withGpu(1));
            try (Session session = openOnBoth(SESSION, "2000", "ep.cudaarena.gpu:1.arena.max_mem", "3000")) {
                assertThat(limitOf(session, 0)).isEqualTo(new Setting("arena.max_mem", "2000", "2000", "session", ""));
                assertThat(limitOf(session, 1))
                        .isEqualTo(new Setting("arena.max_mem", "3000", "3000", "session gpu:1", ""));
            }
        }

        @Test
        void aSettingOfOneGpuLeavesTheOtherShared() {
            environment.register(gpu.withGpu(1));
            try (Session limited = openOnBoth("ep.cudaarena.gpu:1.arena.max_mem", "100");
                    Session free = openOnBoth()) {
                assertThat(limited.allocator().isSameInstanceAs(free.allocator()))
                        .isTrue();
                final ManagedAllocator second = limited.allocator(
                                new MemoryLocation(DeviceType.GPU, 0, 1, MemoryType.DEFAULT))
                        .orElseThrow();
                assertThatThrownBy(() -> second.alloc(101)).hasMessageContaining("limit reached");
                assertThat(limited.report().notes()).isEmpty();
            }
        }

        @Test
        void aSettingOfADeviceThatTheSessionDoesNotUseIsNoted() {
            environment.register(gpu.withGpu(1));
            try (Session session = open("ep.cudaarena.gpu:1.arena.max_mem", "5")) {
                assertThat(session.report().notes())
                        .singleElement()
                        .asString()
                        .contains("the session has no device gpu:1 of CudaArena", "arena.max_mem=5");
            }
        }

        @Test
        void aSettingThatIsNotEffectiveSaysWhy() {
            environment.register(gpu);
            try (Session session = open("session.use_env_allocators", "1", SESSION, "2000")) {
                assertThat(session.report().allocators().getFirst().settings())
                        .filteredOn(setting -> !setting.isEffective())
                        .singleElement()
                        .satisfies(setting -> assertThat(setting.why())
                                .isEqualTo("the environment's allocator is used; its value is from default"));
            }
        }

        @Test
        void aRoundedValueIsEffective() {
            environment.register(gpu);
            try (Session session = open("ep.cudaarena.arena.initial_chunk_size_bytes", "1000")) {
                assertThat(session.report().allocators().getFirst().settings())
                        .filteredOn(setting -> setting.key().equals("arena.initial_chunk_size_bytes"))
                        .singleElement()
                        .isEqualTo(new Setting("arena.initial_chunk_size_bytes", "1000", "1024", "session", ""));
            }
        }

        @Test
        void settingsOfASessionLeaveOthersAlone() {
            environment.register(gpu);
            try (Session limited = open(SESSION, "100");
                    Session free = open()) {
                assertThatThrownBy(() -> limited.allocator().alloc(101)).hasMessageContaining("limit reached");
                free.allocator().free(free.allocator().alloc(101));
                assertThat(limited.allocator().isSameInstanceAs(free.allocator()))
                        .isFalse();
            }
        }

        @Test
        void sharingInSpiteOfOwnSettingsCanBeRequestedAndIsReported() {
            environment.register(gpu);
            try (Session session = open(SESSION, "2000", "ep.cudaarena." + OptionKey.EXCLUSIVE.name(), "0")) {
                final AllocatorReport report = session.report().allocators().getFirst();
                assertThat(report.source()).isEqualTo(Source.CREATED);
                assertThat(report.settings())
                        .filteredOn(setting -> !setting.isEffective())
                        .extracting(Setting::key)
                        .containsExactly("arena.max_mem");
            }
        }

        @Test
        void aProviderThatReportsNoSettingsIsReportedAsThat() {
            environment.register(gpu);
            gpu.returned(allocator -> {
                ((FakeAllocator) allocator).effectiveOptions(AllocatorOptions.EMPTY);
                return allocator;
            });
            try (Session session = open(SESSION, "2000")) {
                assertThat(session.report().allocators().getFirst().settings())
                        .filteredOn(setting -> setting.key().equals("arena.max_mem"))
                        .singleElement()
                        .satisfies(setting -> {
                            assertThat(setting.effective()).isNull();
                            assertThat(setting.why()).isEqualTo("the provider reports no settings of this memory");
                        });
            }
        }

        @Test
        void keysOfAProviderThatTheSessionDoesNotUseAreNoted() {
            environment.register(gpu);
            environment.register(cpu);
            try (Session session = open("ep.cpu.arena.max_mem", "5")) {
                assertThat(session.report().notes())
                        .singleElement()
                        .asString()
                        .contains("no device of Cpu", "arena.max_mem=5");
            }
        }
    }

    @Nested
    class Keys {
        @Test
        void aMistypedProviderKeyIsRejectedWithTheClosest() {
            environment.register(gpu);
            assertThatThrownBy(() -> open("ep.cudaarena.arena.max_men", "1"))
                    .isInstanceOf(InvalidOptionException.class)
                    .hasMessageContaining("did you mean ep.cudaarena.arena.max_mem?");
            assertThatThrownBy(() -> open("ep.CudaArena.arena.max_mem", "1"))
                    .isInstanceOf(InvalidOptionException.class)
                    .hasMessageContaining("did you mean ep.cudaarena.arena.max_mem?");
            assertThatThrownBy(() -> open("ep.cuda.arena.max_mem", "1")).isInstanceOf(InvalidOptionException.class);
        }

        @Test
        void aSettingOfADeviceThatTheProviderDoesNotHaveIsRejectedWithThoseItHas() {
            environment.register(gpu.withGpu(1));
            assertThatThrownBy(() -> open("ep.cudaarena.gpu:2.arena.max_mem", "1"))
                    .isInstanceOf(InvalidOptionException.class)
                    .hasMessage("option ep.cudaarena.gpu:2.arena.max_mem='1' (from session) is not for a device that"
                            + " CudaArena has; it has gpu:0, gpu:1");
            assertThatThrownBy(() -> open("ep.cudaarena.gpu:1.arena.max_men", "1"))
                    .hasMessageContaining("did you mean ep.cudaarena.gpu:1.arena.max_mem?");
            assertThatThrownBy(() -> open("ep.cudaarena.gpu:1.arena.max_mem", "x"))
                    .hasMessageContaining("option ep.cudaarena.gpu:1.arena.max_mem='x' (from session) is not");
        }

        @ParameterizedTest
        @ValueSource(strings = {"session.use_env_allocator", "session.", "memory.unknown", ""})
        void anUnknownKeyIsRejectedAtOnce(String key) {
            assertThatThrownBy(() -> SessionOptions.builder().option(key, "1"))
                    .isInstanceOf(InvalidOptionException.class)
                    .hasMessageContaining(" Known: ");
        }

        @Test
        void aBareKeyIsAnsweredWithThePrefixedOne() {
            assertThatThrownBy(() -> SessionOptions.builder().option("arena.max_mem", "1"))
                    .isInstanceOf(InvalidOptionException.class)
                    .hasMessageEndingWith("it is an option of a provider's allocators: set ep.<provider in lower case>"
                            + ".arena.max_mem in SessionOptions, such as ep.cpu-reference.arena.max_mem");
        }

        /** Issue 22297: the shrink list on a session is ignored without a word. */
        @ParameterizedTest
        @ValueSource(strings = {"memory.enable_memory_arena_shrinkage", "disable_synchronize_execution_providers"})
        void aRunKeyOnASessionSaysWhereItBelongs(String key) {
            assertThatThrownBy(() -> SessionOptions.builder().option(key, "cpu:0"))
                    .isInstanceOf(InvalidOptionException.class)
                    .hasMessageContaining("it is an option of one run: set it in RunOptions");
        }

        @ParameterizedTest
        @ValueSource(strings = {"-1", "2", "true", "", "256", "9223372036854775807"})
        void aFlagIsZeroOrOne(String value) {
            assertThatThrownBy(() -> SessionOptions.builder().option("session.use_env_allocators", value))
                    .isInstanceOf(InvalidOptionException.class)
                    .hasMessageContaining("is not 0 (off) or 1 (on)");
        }
    }

    @Nested
    class Failing {
        @Test
        void aFaultAtAnyCallLeavesNothingBehind() {
            environment.register(gpu);
            environment.register(cpu);
            final int references = gpu.references();
            gpu.log().clear();
            open().close();
            final int calls = gpu.log().size();
            int rejected = 0;
            for (int n = 1; n <= calls; n++) {
                gpu.before(Faults.atCall(n, new AtomicInteger(), () -> new DeviceException("injected", null)));
                try {
                    open("session.use_env_allocators", n % 2 == 0 ? "1" : "0").close();
                } catch (DeviceException e) {
                    rejected++;
                }
                gpu.before(operation -> {});
                assertThat(gpu.references()).as("after a fault at call " + n).isEqualTo(references);
            }
            assertThat(rejected).isGreaterThan(2);
        }

        @Test
        void aSessionThatCannotReportItsSettingsIsNotOpened() {
            environment.register(gpu);
            gpu.returned(allocator -> {
                ((FakeAllocator) allocator)
                        .before(Faults.on("effectiveOptions", new DeviceException("no settings", null)));
                return allocator;
            });
            assertThatThrownBy(SessionTest.this::open).hasMessage("no settings");
            assertThat(gpu.references()).isEqualTo(2);
        }
    }

    @Test
    void aCallThatEndsInAnErrorKeepsNoSessionFromEnding() {
        environment.register(gpu);
        final int references = gpu.references();
        final Session session = open();
        assertThatThrownBy(() -> session.whileUsed(() -> {
                    throw new AssertionError("injected");
                }))
                .hasMessage("injected");
        session.close();
        assertThat(gpu.references()).isEqualTo(references);
    }

    @Nested
    class Decorating {
        @Test
        void theDecoratorLiesBetweenTheSessionAndItsAllocators() {
            environment.register(cpu);
            final AtomicInteger allocs = new AtomicInteger();
            final Session session = environment.openSession(SessionOptions.builder()
                    .decorator(allocator -> {
                        final FakeAllocator.Full counting = new FakeAllocator.Full(allocator.info());
                        counting.before(operation -> allocs.incrementAndGet());
                        return counting;
                    })
                    .build());
            session.allocator().free(session.allocator().alloc(4));
            assertThat(allocs.get()).isGreaterThan(1);
            session.close();
            assertThat(cpu.references()).isOne();
        }

        @Test
        void aDecoratorThatChangesTheMemoryIsRejected() {
            environment.register(cpu);
            assertThatThrownBy(() -> environment.openSession(SessionOptions.builder()
                            .decorator(allocator -> new FakeAllocator(CUDA))
                            .build()))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("decorator");
            assertThat(cpu.references()).isOne();
        }
    }

    @Test
    void sessionsAreNamed() {
        environment.register(cpu);
        try (Session unnamed = environment.openSession(SessionOptions.DEFAULT);
                Session named = open()) {
            assertThat(unnamed.name()).isEqualTo("session-1");
            assertThat(named).hasToString("s");
            assertThat(named.devices()).isEqualTo(List.of(environment.devices().getFirst()));
        }
    }
}
