package allocator.runtime;

import static allocator.testkit.FakeMemory.location;
import static allocator.testkit.FakeMemory.memory;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.runtime.discovery.LoadedFactory;
import allocator.runtime.discovery.SearchResult;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.EpFactory;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeAllocator;
import allocator.testkit.FakeFactory;
import allocator.testkit.Faults;
import allocator.testkit.ForwardingFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Path 1: what happens when a provider is registered. */
// One class, since every group shares the fixture of an environment with fake providers.
class ProviderRegistryTest {
    private static final MemoryLocation PINNED = new MemoryLocation(DeviceType.GPU, 0, 0, MemoryType.HOST_ACCESSIBLE);

    private Environment environment = Environments.empty();

    private void use(String key, String value) {
        environment.close();
        environment = Environment.builder()
                .modulePathProviders(false)
                .option(key, value)
                .build();
    }

    @AfterEach
    void close() {
        environment.close();
    }

    @Test
    void sharedAllocatorsAreMadeForDeviceAndHostAccessibleMemoryButNotForReadOnly() {
        final FakeFactory factory = FakeFactory.gpu("Cuda");
        final ProviderReport report = environment.register(factory);
        assertThat(report.isRegistered()).isTrue();
        assertThat(report.devices()).isEqualTo(factory.devices());
        assertThat(factory.created())
                .extracting(allocator -> allocator.info().name())
                .containsExactly("Cuda", "CudaPinned");
        assertThat(environment.sharedAllocator(location(DeviceType.GPU, 0))).isPresent();
        assertThat(environment.sharedAllocator(PINNED)).isPresent();
        assertThat(environment.sharedAllocators()).hasSize(2);
    }

    @Test
    void severalGpusAreSeparateEntries() {
        final FakeFactory factory = FakeFactory.gpu("Cuda").withGpu(1);
        environment.register(factory);
        final ManagedAllocator first =
                environment.sharedAllocator(location(DeviceType.GPU, 0)).orElseThrow();
        final ManagedAllocator second =
                environment.sharedAllocator(location(DeviceType.GPU, 1)).orElseThrow();
        assertThat(first.isSameInstanceAs(second)).isFalse();
        first.free(first.alloc(256));
        second.free(second.alloc(256));
        assertThat(environment.devices()).hasSize(2);
    }

    @Test
    void devicesAreOrderedByKindAndProviderName() {
        environment.register(FakeFactory.cpu("Z"));
        environment.register(
                new FakeFactory("N").with(DeviceType.NPU, 0, memory("N", DeviceType.NPU, 0, MemoryType.DEFAULT)));
        environment.register(FakeFactory.gpu("Y"));
        environment.register(FakeFactory.gpu("X"));
        environment.register(FakeFactory.cpu("A"));
        assertThat(environment.devices()).extracting(ProviderDevice::provider).containsExactly("X", "Y", "N", "A", "Z");
    }

    @Test
    void theFirstProviderOfAMemoryKeepsItsSharedAllocator() {
        environment.register(FakeFactory.gpu("First"));
        final ManagedAllocator first =
                environment.sharedAllocator(location(DeviceType.GPU, 0)).orElseThrow();
        final FakeFactory second = FakeFactory.gpu("Second");
        final ProviderReport report = environment.register(second);
        assertThat(environment.sharedAllocator(location(DeviceType.GPU, 0))).containsSame(first);
        assertThat(second.created()).isEmpty();
        assertThat(report.notes()).anySatisfy(note -> assertThat(note).contains("already registered", "First"));
    }

    /** The order of jars on a class path is that of the file system, which decided before. */
    @Nested
    class Order {
        private static EpFactory of(String name, int priority) {
            return new ForwardingFactory(FakeFactory.gpu(name)) {
                @Override
                public int priority() {
                    return priority;
                }
            };
        }

        private void find(EpFactory... factories) {
            environment.registerFound(new SearchResult(
                    List.of("a test"),
                    Stream.of(factories)
                            .map(factory -> new LoadedFactory(factory, "", "a.jar"))
                            .toList(),
                    List.of()));
        }

        private String serving() {
            return environment
                    .sharedAllocator(location(DeviceType.GPU, 0))
                    .orElseThrow()
                    .report()
                    .provider();
        }

        @Test
        void ofTwoThatWereFoundTheFirstByNameServes() {
            find(of("B", 0), of("A", 0));
            assertThat(serving()).isEqualTo("A");
            assertThat(environment.devices())
                    .extracting(ProviderDevice::provider)
                    .containsExactly("A", "B");
            assertThat(environment.providers().getLast().notes())
                    .anySatisfy(note -> assertThat(note).contains("that of A, since its name comes first"));
        }

        @Test
        void aHigherPriorityComesFirst() {
            find(of("A", 0), of("B", 7));
            assertThat(serving()).isEqualTo("B");
            assertThat(environment.devices())
                    .extracting(ProviderDevice::provider)
                    .containsExactly("B", "A");
            assertThat(environment.providers())
                    .extracting(ProviderReport::priority)
                    .containsExactly(7, 0);
            try (Session session = environment.openSession(SessionOptions.DEFAULT)) {
                assertThat(session.devices())
                        .extracting(ProviderDevice::provider)
                        .containsExactly("B");
            }
            assertThat(environment.providers().getLast().notes())
                    .anySatisfy(note -> assertThat(note).contains("since its priority is 7, that of A is 0"));
        }

        @Test
        void theOptionComesBeforePriorities() {
            use(EnvironmentBuilder.PROVIDER_ORDER, "A,Absent");
            find(of("B", 7), of("A", 0));
            assertThat(serving()).isEqualTo("A");
            assertThat(environment.unusedSettings())
                    .containsExactly("no registered provider is named Absent, as environment.provider_order does");
        }

        @Test
        void aListThatIsNotOneIsRejectedAtOnce() {
            final EnvironmentBuilder builder = Environment.builder();
            assertThatThrownBy(() -> builder.option("environment.provider_order", "A,,B"))
                    .isInstanceOf(InvalidOptionException.class);
        }

        @Test
        void aPriorityThatThrowsIsReportedAndAffectsNoOther() {
            find(
                    new ForwardingFactory(FakeFactory.gpu("A")) {
                        @Override
                        public int priority() {
                            throw new IllegalStateException("none");
                        }
                    },
                    of("B", 0));
            assertThat(serving()).isEqualTo("B");
            assertThat(environment.providers().getLast().failure().orElseThrow())
                    .contains("threw from priority");
        }

        @Test
        void aSessionThatNamesAProviderGetsItsMemoryAlsoBesideAnEnvironmentsAllocator() {
            find(of("A", 0), of("B", 0));
            final SessionOptions options = SessionOptions.builder()
                    .provider("B")
                    .option("session.use_env_allocators", "1")
                    .build();
            try (Session session = environment.openSession(options)) {
                assertThat(session.report().allocators())
                        .extracting(AllocatorReport::provider)
                        .containsOnly("B");
            }
        }
    }

    @Test
    void aProviderWithoutDevicesIsRegisteredAndSaysWhy() {
        final ProviderReport report = environment.register(new FakeFactory("Absent"));
        assertThat(report.isRegistered()).isTrue();
        assertThat(report.notes()).containsExactly("nothing was plugged in");
        assertThatThrownBy(() -> environment.openSession(SessionOptions.DEFAULT))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("Absent (no device: nothing was plugged in)");
    }

    @Test
    void aNameIsTakenOnce() {
        environment.register(FakeFactory.cpu("Cpu"));
        final FakeFactory second = FakeFactory.cpu("Cpu");
        assertThatThrownBy(() -> environment.register(second))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("EP library is already registered under Cpu (from application)");
        assertThat(second.isClosed()).isFalse();
        assertThat(environment.providers()).hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"cPU", "Cpu.Fast", "c"})
    void namesWhoseKeysCouldBeMixedUpAreRejected(String name) {
        environment.register(FakeFactory.cpu("Cpu"));
        if (name.equals("c")) {
            environment.register(FakeFactory.gpu(name));
            return;
        }
        assertThatThrownBy(() -> environment.register(FakeFactory.gpu(name)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("ep.cpu.");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "two words", "tab\t"})
    void namesWithBlanksAreRejected(String name) {
        assertThatThrownBy(() -> environment.register(FakeFactory.cpu(name)))
                .isInstanceOf(ProviderException.class)
                .hasMessageContaining("a name has no blanks");
    }

    @Test
    void anUnknownNameCannotBeUnregistered() {
        assertThatThrownBy(() -> environment.unregister("X"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("X was not registered");
    }

    @Test
    void afterUnregisteringNothingOfAProviderIsLeft() {
        final FakeFactory factory = FakeFactory.gpu("Cuda");
        environment.register(factory);
        environment.unregister("Cuda");
        assertThat(factory.references()).isZero();
        assertThat(factory.isClosed()).isTrue();
        assertThat(environment.devices()).isEmpty();
        assertThat(environment.sharedAllocators()).isEmpty();
        assertThat(environment.providers()).isEmpty();
        environment.register(FakeFactory.gpu("Cuda"));
    }

    @Test
    void aProviderThatFailsToCloseStaysRegisteredAndWorks() {
        final FakeFactory factory = FakeFactory.cpu("Cpu");
        environment.register(factory);
        final MemoryInfo info = factory.devices().getFirst().memoryInfos().getFirst();
        final Allocator foreign = factory.createAllocator(info, AllocatorOptions.EMPTY);
        assertThatThrownBy(() -> environment.unregister("Cpu"))
                .isInstanceOf(ProviderException.class)
                .hasMessageContaining("Cpu has references or streams out");
        final ManagedAllocator again = environment.sharedAllocator(info).orElseThrow();
        again.free(again.alloc(1));
        factory.releaseAllocator(foreign);
        environment.unregister("Cpu");
        assertThat(factory.isClosed()).isTrue();
    }

    /** Each violation is a ProviderException that names the provider, and leaves nothing behind. */
    @Nested
    class Violations {
        private final FakeFactory factory = FakeFactory.gpu("Faulty");

        private void assertRejected(String... texts) {
            assertThatThrownBy(() -> environment.register(factory))
                    .isInstanceOf(ProviderException.class)
                    .hasMessageContaining("provider Faulty")
                    .hasMessageContainingAll(texts);
            assertThat(factory.references()).isZero();
            assertThat(environment.sharedAllocators()).isEmpty();
            assertThat(environment.providers()).isEmpty();
        }

        private void returning(UnaryOperator<Allocator> change) {
            factory.returned(change);
        }

        @Test
        void theSameMemoryTwice() {
            factory.withGpu(0);
            assertRejected("lists Cuda (gpu:0) twice");
        }

        @Test
        void theSameOptionKeyTwice() {
            factory.keys(List.of(FakeFactory.MAX_MEM, FakeFactory.MAX_MEM));
            assertRejected("arena.max_mem twice");
        }

        @Test
        void nullOptionKeys() {
            factory.keys(null);
            assertRejected("optionKeys");
        }

        @Test
        void noAllocator() {
            returning(allocator -> null);
            assertRejected("returned null from createAllocator(Cuda (gpu:0))");
        }

        @Test
        void anAllocatorWithoutInfo() {
            returning(allocator -> {
                ((FakeAllocator) allocator).info(null);
                return allocator;
            });
            // The fake cannot tell by a null info what to release, so it is put back before.
            factory.before(operation -> factory.created()
                    .forEach(allocator -> allocator.info(
                            allocator.info() == null && operation.startsWith("release") ? CUDA : allocator.info())));
            assertThatThrownBy(() -> environment.register(factory))
                    .isInstanceOf(ProviderException.class)
                    .hasMessageContaining("provider Faulty returned null from the allocator's info");
        }

        @Test
        void anAllocatorOfTheArenaType() {
            returning(changed(new MemoryInfo("Cuda", CUDA.location(), 256, AllocatorType.ARENA)));
            assertRejected("of the type ARENA", "reserved for the runtime");
        }

        @Test
        void anAllocatorOfAnotherOrdinal() {
            returning(changed(memory("Cuda", DeviceType.GPU, 1, MemoryType.DEFAULT)));
            assertRejected("location gpu:1 of vendor 0 instead of gpu:0 of vendor 0");
        }

        @Test
        void anAllocatorOfAnotherName() {
            returning(changed(memory("Other", DeviceType.GPU, 0, MemoryType.DEFAULT)));
            assertRejected("name Other instead of Cuda");
        }

        @Test
        void anAllocatorOfAnotherAlignment() {
            returning(changed(new MemoryInfo("Cuda", CUDA.location(), 64, AllocatorType.DEVICE)));
            assertRejected("alignment 64 instead of 256");
        }

        @Test
        void anAllocatorOfAnotherType() {
            returning(changed(new MemoryInfo("Cuda", CUDA.location(), 256, AllocatorType.READ_ONLY)));
            assertRejected("type READ_ONLY instead of DEVICE");
        }

        @Test
        void anAllocatorOfNoLevel() {
            returning(allocator -> {
                ((FakeAllocator) allocator).spiLevel(0);
                return allocator;
            });
            assertRejected("SPI level 0");
        }

        @Test
        void oneInstanceForTwoMemories() {
            final FakeAllocator[] only = new FakeAllocator[1];
            returning(allocator -> {
                if (only[0] == null) {
                    only[0] = (FakeAllocator) allocator;
                } else {
                    only[0].info(((FakeAllocator) allocator).info());
                }
                return only[0];
            });
            assertThatThrownBy(() -> environment.register(factory))
                    .isInstanceOf(ProviderException.class)
                    .hasMessageContaining("already registered, for Cuda (gpu:0), when requested for CudaPinned");
            assertThat(factory.references()).isZero();
        }

        private UnaryOperator<Allocator> changed(MemoryInfo info) {
            return allocator -> {
                ((FakeAllocator) allocator).info(info);
                return allocator;
            };
        }
    }

    private static final MemoryInfo CUDA = memory("Cuda", DeviceType.GPU, 0, MemoryType.DEFAULT);

    @Nested
    class Rollback {
        /** Fails the registration at every provider call in turn; each time nothing may be left, and a retry works. */
        @Test
        void aFaultAtAnyCallLeavesNothingBehind() {
            final int calls = countCalls();
            assertThat(calls).isGreaterThan(6);
            for (int n = 1; n <= calls; n++) {
                final FakeFactory factory = FakeFactory.gpu("Cuda").withGpu(1);
                final AtomicInteger count = new AtomicInteger();
                factory.before(Faults.atCall(n, count, () -> new DeviceException("injected", null)));
                assertThatThrownBy(() -> environment.register(factory))
                        .as("call " + n)
                        .hasMessageContaining("injected");
                assertThat(factory.references())
                        .as("references after call " + n)
                        .isZero();
                assertThat(environment.sharedAllocators()).isEmpty();
                assertThat(environment.providers()).isEmpty();
                assertThat(factory.isClosed())
                        .as("the caller keeps the factory")
                        .isFalse();
                factory.before(operation -> {});
                environment.register(factory);
                environment.unregister("Cuda");
                assertThat(factory.references()).isZero();
            }
        }

        private int countCalls() {
            final FakeFactory factory = FakeFactory.gpu("Cuda").withGpu(1);
            environment.register(factory);
            final int calls = factory.log().size();
            environment.unregister("Cuda");
            return calls;
        }

        @Test
        void theUndoGoesBackwards() {
            final FakeFactory factory = FakeFactory.gpu("Cuda").withGpu(1);
            factory.before(Faults.on("create CudaPinned (gpu:1", new DeviceException("injected", null)));
            assertThatThrownBy(() -> environment.register(factory)).isInstanceOf(DeviceException.class);
            assertThat(factory.log().stream().filter(call -> call.startsWith("release")))
                    .containsExactly(
                            "release Cuda (gpu:1)",
                            "release CudaPinned (gpu:0 host-accessible)",
                            "release Cuda (gpu:0)");
        }

        @Test
        void whatFailsDuringTheUndoIsSuppressed() {
            final FakeFactory factory = FakeFactory.gpu("Cuda");
            factory.before(Faults.on("create CudaPinned", new DeviceException("first", null))
                    .andThen(Faults.on("release", new DeviceException("second", null))));
            assertThatThrownBy(() -> environment.register(factory))
                    .hasMessage("first")
                    .satisfies(e -> assertThat(e.getSuppressed())
                            .singleElement()
                            .satisfies(again -> assertThat(again).hasMessage("second")));
            assertThat(factory.references()).isZero();
        }

        @Test
        void exhaustionAtRegistrationComesThroughTyped() {
            final FakeFactory factory = FakeFactory.cpu("Cpu");
            final Consumer<String> fault = Faults.on(
                    "create", new OutOfMemoryException("full", OutOfMemoryException.Shortage.ofDevice(CUDA, 10, 5)));
            factory.before(fault);
            assertThatThrownBy(() -> environment.register(factory)).isInstanceOf(OutOfMemoryException.class);
        }
    }

    /** Providers that a search finds. One that is broken is one line of the report, and costs no other. */
    @Nested
    class Found {
        private final FakeFactory good = FakeFactory.cpu("Good");

        private static List<Throwable> thrown() {
            return List.of(
                    new DeviceException("device", null),
                    new InvalidOptionException("ep_factory.Good.arena.max_mem", "1", "to be accepted", "a test"),
                    new IllegalStateException("odd\nin two lines"),
                    new AssertionError("error"),
                    new NoClassDefFoundError("a/Missing"),
                    new OutOfMemoryError("heap"),
                    new StackOverflowError());
        }

        private void find(FakeFactory... bad) {
            final List<LoadedFactory> found = new ArrayList<>();
            for (final FakeFactory one : bad) {
                found.add(new LoadedFactory(one, "bad.module", "bad.jar"));
            }
            found.add(new LoadedFactory(good, "good.module", "good.jar"));
            environment.registerFound(new SearchResult(List.of("a test"), found, List.of()));
        }

        private void assertOneFailure() {
            assertThat(environment.providers()).hasSize(2);
            assertThat(environment.providers().getFirst().name()).isEqualTo("Good");
            assertThat(environment.providers().getFirst().isRegistered()).isTrue();
            assertThat(environment.providers().getLast().failure().orElseThrow())
                    .isNotEmpty()
                    .doesNotContain("\n");
            assertThat(environment.providers().getLast().module()).isEqualTo("bad.module");
        }

        @ParameterizedTest
        @MethodSource("thrown")
        void aNameThatThrowsIsReported(Throwable thrown) {
            use("ep_factory.Good.arena.max_mem", "4096");
            final FakeFactory bad = FakeFactory.cpu("Bad").before(Faults.on("name", thrown));
            find(bad);
            assertOneFailure();
            assertThat(environment.providers().getLast().failure().orElseThrow())
                    .contains(thrown.getClass().getSimpleName());
            assertThat(bad.isClosed()).isTrue();
        }

        @ParameterizedTest
        @MethodSource("thrown")
        void aDiscoveryThatThrowsIsReported(Throwable thrown) {
            use("ep_factory.Bad.arena.max_mem", "4096");
            final FakeFactory bad = FakeFactory.gpu("Bad").before(Faults.on("discoverDevices", thrown));
            find(bad);
            assertOneFailure();
            assertThat(bad.isClosed()).isTrue();
        }

        @ParameterizedTest
        @MethodSource("thrown")
        void aCreateThatThrowsIsReported(Throwable thrown) {
            final FakeFactory bad = FakeFactory.gpu("Bad").before(Faults.on("create CudaPinned", thrown));
            find(bad);
            assertOneFailure();
            assertThat(bad.references()).isZero();
            assertThat(bad.isClosed()).isTrue();
        }

        @ParameterizedTest
        @MethodSource("thrown")
        void aCloseThatThrowsAsWellIsTriedAgainWithTheEnvironment(Throwable thrown) {
            final FakeFactory bad = FakeFactory.gpu("Bad")
                    .before(Faults.on("discoverDevices", thrown).andThen(Faults.on("close", thrown)));
            find(bad);
            assertOneFailure();
            assertThat(bad.isClosed()).isFalse();
            bad.before(Faults.NONE);
            environment.close();
            assertThat(bad.isClosed()).isTrue();
            assertThat(good.isClosed()).isTrue();
        }

        @Test
        void anExceptionThatCannotDescribeItselfIsReported() {
            find(FakeFactory.cpu("Bad").before(Faults.on("name", new RuntimeException() {
                private static final long serialVersionUID = 1L;

                @Override
                public String getMessage() {
                    throw new StackOverflowError();
                }

                @Override
                public synchronized Throwable getCause() {
                    throw new IllegalStateException();
                }
            })));
            assertOneFailure();
        }
    }

    @Nested
    class EnvironmentSettings {
        @Test
        void theyReachTheProviderWithoutTheirPrefix() {
            use("ep_factory.Cuda.arena.max_mem", "4096");
            final FakeFactory factory = FakeFactory.gpu("Cuda");
            environment.register(factory);
            assertThat(factory.created()).allSatisfy(allocator -> {
                assertThat(allocator.effectiveOptions().value("arena.max_mem")).isEqualTo("4096");
                assertThat(allocator.effectiveOptions().origin("arena.max_mem")).isEqualTo("environment");
            });
            assertThat(environment.unusedSettings()).isEmpty();
        }

        @Test
        void theNameIsMatchedInItsExactCase() {
            use("ep_factory.cuda.arena.max_mem", "4096");
            final FakeFactory factory = FakeFactory.gpu("Cuda");
            environment.register(factory);
            assertThat(factory.last().effectiveOptions().origin("arena.max_mem"))
                    .isEqualTo("default");
            assertThat(environment.unusedSettings())
                    .singleElement()
                    .asString()
                    .contains("ep_factory.cuda.arena.max_mem", "did you mean ep_factory.Cuda.arena.max_mem?");
        }

        @Test
        void anUnknownKeyIsRejectedWithTheClosest() {
            use("ep_factory.Cuda.arena.max_men", "1");
            final FakeFactory factory = FakeFactory.gpu("Cuda");
            assertThatThrownBy(() -> environment.register(factory))
                    .isInstanceOf(InvalidOptionException.class)
                    .hasMessageContainingAll(
                            "ep_factory.Cuda.arena.max_men",
                            "environment",
                            "did you mean ep_factory.Cuda.arena.max_mem?");
            assertThat(factory.created()).isEmpty();
        }

        @ParameterizedTest
        @ValueSource(strings = {"-1", "abc", "", " 1", "18446744073709551616"})
        void aBadValueIsRejectedByKeyValueRangeAndOrigin(String value) {
            use("ep_factory.Cuda.arena.max_mem", value);
            assertThatThrownBy(() -> environment.register(FakeFactory.gpu("Cuda")))
                    .isInstanceOf(InvalidOptionException.class)
                    .hasMessageStartingWith("option ep_factory.Cuda.arena.max_mem='" + value
                            + "' (from environment) is not a number of bytes from 0 to 9223372036854775807");
        }

        @Test
        void keysOfOtherPlacesAreRejectedAtOnce() {
            final EnvironmentBuilder builder = Environment.builder();
            assertThatThrownBy(() -> builder.option("ep.cuda.arena.max_mem", "1"))
                    .isInstanceOf(InvalidOptionException.class)
                    .hasMessageContaining("set it in SessionOptions");
            assertThatThrownBy(() -> builder.option(RunOptions.SHRINK_KEY, "cpu"))
                    .isInstanceOf(InvalidOptionException.class)
                    .hasMessageContaining("set it in RunOptions");
            assertThatThrownBy(() -> builder.option("arena.max_mem", "1"))
                    .isInstanceOf(InvalidOptionException.class)
                    .hasMessageContaining("ep_factory.<provider>.");
        }
    }

    @Test
    void aClosedEnvironmentRegistersNothing() {
        environment.close();
        final List<Runnable> operations = new ArrayList<>();
        operations.add(() -> environment.register(FakeFactory.cpu("Cpu")));
        operations.add(() -> environment.unregister("Cpu"));
        operations.add(() -> environment.openSession(SessionOptions.DEFAULT));
        operations.add(() -> environment.registerAllocator(new FakeAllocator(CUDA)));
        assertThat(operations)
                .allSatisfy(operation -> assertThatThrownBy(operation::run)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessage("the environment is closed"));
    }
}
