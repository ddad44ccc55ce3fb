package allocator.runtime;

import static allocator.testkit.FakeMemory.location;
import static allocator.testkit.FakeMemory.memory;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import allocator.spi.AllocatorClosedException;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.EpFactory;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.testkit.FakeAllocator;
import allocator.testkit.FakeFactory;
import allocator.testkit.Faults;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Nothing ends beneath what depends on it (L-03), in whatever order things are closed. */
class EnvironmentTest {
    private static final MemoryLocation GPU = location(DeviceType.GPU, 0);

    private final Environment environment = Environments.empty();
    private final FakeFactory gpu = FakeFactory.gpu("Cuda");

    EnvironmentTest() {
        environment.register(gpu);
    }

    private Session open(String name) {
        return environment.openSession(SessionOptions.builder().name(name).build());
    }

    /** All orders of: freeing two blocks of two sessions, closing the sessions, trying to unregister and to close. */
    static Stream<List<String>> orders() {
        final List<List<String>> orders = new ArrayList<>();
        permute(List.of("free 1", "free 2", "close 1", "close 2", "unregister", "close"), List.of(), orders);
        return orders.stream();
    }

    private static void permute(List<String> left, List<String> taken, List<List<String>> orders) {
        if (left.isEmpty()) {
            orders.add(taken);
        }
        for (final String next : left) {
            final List<String> rest = new ArrayList<>(left);
            rest.remove(next);
            final List<String> more = new ArrayList<>(taken);
            more.add(next);
            permute(rest, more, orders);
        }
    }

    @Test
    void everyOrderOfClosingIsSafe() {
        assertThat(orders()).hasSize(720).allSatisfy(EnvironmentTest::assertSafe);
    }

    private static void assertSafe(List<String> order) {
        final Environment environment = Environments.empty();
        final FakeFactory gpu = FakeFactory.gpu("Cuda");
        environment.register(gpu);
        final Session first = environment.openSession(SessionOptions.DEFAULT);
        final Session second = environment.openSession(
                SessionOptions.builder().option("ep.cuda.arena.max_mem", "100").build());
        final long firstBlock = first.allocator().alloc(1);
        final long secondBlock = second.allocator().alloc(2);
        int left = 4;
        for (final String step : order) {
            switch (step) {
                case "free 1" -> first.allocator().free(firstBlock);
                case "free 2" -> second.allocator().free(secondBlock);
                case "close 1" -> first.close();
                case "close 2" -> second.close();
                default -> {
                    final Runnable end =
                            step.equals("close") ? environment::close : () -> environment.unregister("Cuda");
                    if (left > 0) {
                        assertThatThrownBy(end::run).isInstanceOf(StillInUseException.class);
                        assertThat(gpu.isClosed()).isFalse();
                        continue;
                    }
                    if (gpu.isClosed()) {
                        continue;
                    }
                    end.run();
                    assertThat(gpu.isClosed()).isTrue();
                    continue;
                }
            }
            left--;
        }
        environment.close();
        assertThat(gpu.isClosed()).isTrue();
        assertThat(gpu.references()).isZero();
    }

    @Nested
    class SessionClose {
        @Test
        void withoutBlocksEverythingGoesBackAtOnce() {
            final Session session = open("s");
            session.close();
            assertThat(session.isClosed()).isTrue();
            assertThat(gpu.references()).isEqualTo(2);
            session.close();
            assertThat(gpu.references()).isEqualTo(2);
            environment.close();
        }

        @Test
        void liveBlocksDeferItAndFreesGoOnWorking() {
            final Session session = open("s");
            final ManagedAllocator allocator = session.allocator();
            final long first = allocator.alloc(10);
            final long second = allocator.alloc(20);
            session.close();
            assertThatThrownBy(() -> allocator.alloc(1))
                    .isInstanceOf(AllocatorClosedException.class)
                    .hasMessage("Cuda (gpu:0) of s is closed");
            assertThat(session.liveBlocks()).isEqualTo(2);
            assertThat(session.report().allocators())
                    .as("pinned memory is back already")
                    .isNotNull();
            allocator.free(first);
            assertThat(gpu.references()).isEqualTo(3);
            allocator.free(second);
            assertThat(gpu.references()).isEqualTo(2);
            assertThatThrownBy(() -> allocator.free(second)).isInstanceOf(AllocatorClosedException.class);
            environment.close();
        }

        @Test
        void theExceptionReportsHowMuchOfWhichSession() {
            final Session session = open("bert");
            final long block = session.allocator().alloc(12345);
            session.close();
            assertThatThrownBy(environment::close)
                    .isInstanceOfSatisfying(
                            StillInUseException.class,
                            e -> assertThat(e.users())
                                    .containsExactly("bert is closed, has 1 live block in Cuda (gpu:0)"
                                            + " (12345 bytes in use in its allocator)"));
            session.allocator().free(block);
            environment.close();
        }

        @Test
        void aFailingReleaseIsThrownAndTheSessionIsClosedAllTheSame() {
            final Session session = open("s");
            gpu.before(Faults.on("release Cuda (", new DeviceException("cuMemFree", null)));
            assertThatThrownBy(session::close).isInstanceOf(DeviceException.class);
            gpu.before(operation -> {});
            assertThat(gpu.references()).isEqualTo(2);
            environment.close();
            assertThat(gpu.isClosed()).isTrue();
        }

        @Test
        void aFailingDeferredReleaseDoesNotFailTheFree() {
            final Session session = open("s");
            final long block = session.allocator().alloc(1);
            session.close();
            gpu.before(Faults.on("release", new DeviceException("cuMemFree", null)));
            session.allocator().free(block);
            gpu.before(operation -> {});
            environment.close();
        }

        @Test
        void tryWithResourcesClosesInTheRightOrder() {
            try (environment;
                    Session session = open("s")) {
                session.allocator().free(session.allocator().alloc(1));
            }
            assertThat(gpu.isClosed()).isTrue();
        }
    }

    @Nested
    class EnvironmentClose {
        @Test
        void openSessionsPreventIt() {
            final Session session = open("s");
            assertThatThrownBy(environment::close)
                    .isInstanceOf(StillInUseException.class)
                    .hasMessage("the environment cannot be closed: s is open");
            session.allocator().free(session.allocator().alloc(1));
            session.close();
            environment.close();
            environment.close();
        }

        @Test
        void liveBlocksOfSharedAllocatorsPreventItAndTheyGoOnWorking() {
            final ManagedAllocator shared = environment.sharedAllocator(GPU).orElseThrow();
            final long block = shared.alloc(5);
            assertThatThrownBy(environment::close)
                    .isInstanceOf(StillInUseException.class)
                    .hasMessageContaining("environment has 1 live block in Cuda (gpu:0) (5 bytes in use");
            assertThatThrownBy(() -> environment.unregister("Cuda")).isInstanceOf(StillInUseException.class);
            shared.free(shared.alloc(6));
            shared.free(block);
            environment.close();
        }

        @Test
        void aReleasedAllocatorWithLiveBlocksPreventsItToo() {
            final ManagedAllocator shared = environment.sharedAllocator(GPU).orElseThrow();
            final long block = shared.alloc(5);
            environment.releaseSharedAllocator(GPU);
            assertThatThrownBy(environment::close).isInstanceOf(StillInUseException.class);
            assertThatThrownBy(() -> environment.unregister("Cuda")).isInstanceOf(StillInUseException.class);
            shared.free(block);
            environment.unregister("Cuda");
            environment.close();
        }

        @Test
        void providersAreClosedLastFirst() {
            final List<String> order = new ArrayList<>();
            final FakeFactory second = FakeFactory.cpu("Second");
            environment.register(second);
            gpu.before(operation -> {
                if (operation.equals("close")) {
                    order.add("Cuda");
                }
            });
            second.before(operation -> {
                if (operation.equals("close")) {
                    order.add("Second");
                }
            });
            environment.close();
            assertThat(order).containsExactly("Second", "Cuda");
        }

        @ParameterizedTest
        @ValueSource(strings = {"close", "release"})
        void everyProviderIsClosedAlthoughOneFails(String operation) {
            final FakeFactory second = FakeFactory.cpu("Second");
            environment.register(second);
            second.before(Faults.on(operation, new DeviceException("cuCtxDestroy", null)));
            assertThatThrownBy(environment::close).isInstanceOf(DeviceException.class);
            assertThat(gpu.isClosed()).isTrue();
            second.before(Faults.NONE);
            environment.close();
            assertThat(second.isClosed()).as("closed by the second attempt").isTrue();
        }

        @Test
        void blocksFreedThroughTheSharedAllocatorDoNotHoldItIndefinitely() {
            final Session session = open("s");
            final long block = session.allocator().alloc(1);
            environment.sharedAllocator(GPU).orElseThrow().free(block);
            session.close();
            environment.close();
            assertThat(gpu.references()).isZero();
        }
    }

    @Test
    void aProviderOfAnOpenSessionCannotBeUnregisteredAndAnotherCan() {
        final FakeFactory cpu = FakeFactory.cpu("Cpu");
        environment.register(cpu);
        try (Session session = open("s")) {
            assertThatThrownBy(() -> environment.unregister("Cuda"))
                    .isInstanceOf(StillInUseException.class)
                    .hasMessage("provider Cuda cannot be unregistered: s is open");
            environment.unregister("Cpu");
            assertThat(cpu.isClosed()).isTrue();
            session.allocator().free(session.allocator().alloc(1));
        }
        environment.close();
    }

    @Test
    void theEnvironmentOwnsWhatItRegistered() {
        final EpFactory factory = FakeFactory.cpu("Cpu");
        environment.register(factory);
        environment.close();
        assertThat(((FakeFactory) factory).isClosed()).isTrue();
    }

    @ParameterizedTest
    @MethodSource("someOrders")
    void replacedRegisteredAndSessionAllocatorsEndInAnyOrder(List<String> order) {
        final FakeAllocator.Full own =
                new FakeAllocator.Full(gpu.created().getFirst().info());
        final ManagedAllocator replacedLater = environment.sharedAllocator(GPU).orElseThrow();
        final long old = replacedLater.alloc(1);
        environment.createSharedAllocator(
                environment.devices().getFirst(),
                gpu.created().getFirst().info(),
                allocator.spi.AllocatorOptions.EMPTY);
        final ManagedAllocator registered = environment.registerAllocator(own);
        final long block = registered.alloc(1);
        final Session session = environment.openSession(SessionOptions.builder()
                .option("session.use_env_allocators", "1")
                .build());
        for (final String step : order) {
            assertThatThrownBy(environment::close).isInstanceOf(StillInUseException.class);
            switch (step) {
                case "old" -> replacedLater.free(old);
                case "registered" -> registered.free(block);
                default -> session.close();
            }
        }
        environment.close();
        assertThat(gpu.references()).isZero();
        assertThat(own.live()).isEmpty();
    }

    static Stream<List<String>> someOrders() {
        final List<List<String>> orders = new ArrayList<>();
        permute(List.of("old", "registered", "session"), List.of(), orders);
        return orders.stream();
    }

    /**
     * Allocations wait while it is found out whether the environment may be closed: no provider is called meanwhile.
     */
    @Test
    @Timeout(60)
    void aRegisteredAllocatorThatAllocatesFromASharedOneDoesNotStopItsClose() {
        final Environment own = Environments.empty();
        own.register(FakeFactory.gpu("Cuda"));
        final ManagedAllocator shared = own.sharedAllocator(GPU).orElseThrow();
        final FakeAllocator scratching = new FakeAllocator(memory("Host", DeviceType.CPU, 0, MemoryType.DEFAULT));
        scratching.before(operation -> {
            if (operation.equals("stats")) {
                shared.free(shared.alloc(1));
            }
        });
        final ManagedAllocator registered = own.registerAllocator(scratching);
        final long block = registered.alloc(1);
        assertThatThrownBy(own::close).isInstanceOf(StillInUseException.class);
        registered.free(block);
        own.close();
    }

    @Test
    void aProviderThatIsCalledByTheCloseFindsTheEnvironmentClosed() {
        final Environment own = Environments.empty();
        final FakeFactory factory = FakeFactory.gpu("Cuda");
        own.register(factory);
        final List<Throwable> thrown = new ArrayList<>();
        factory.before(operation -> {
            if (operation.startsWith("release")) {
                thrown.add(catchThrowable(() -> own.openSession(SessionOptions.DEFAULT)));
            }
        });
        own.close();
        assertThat(thrown)
                .isNotEmpty()
                .allSatisfy(failure -> assertThat(failure)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("closed"));
    }
}
