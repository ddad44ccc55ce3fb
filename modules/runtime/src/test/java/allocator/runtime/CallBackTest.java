package allocator.runtime;

import static allocator.testkit.FakeMemory.location;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.testkit.FakeAllocator;
import allocator.testkit.FakeFactory;
import allocator.testkit.Faults;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A provider calls the environment that is just calling it. */
@Timeout(60)
class CallBackTest {
    private static final String NAME = "Cuda";

    private final Environment environment = Environments.empty();
    private final FakeFactory gpu = FakeFactory.gpu(NAME);
    private final List<Throwable> thrown = new ArrayList<>();

    private Session open() {
        return environment.openSession(SessionOptions.builder().provider(NAME).build());
    }

    private void onCall(String operation, Runnable callBack) {
        gpu.before(called -> {
            if (called.startsWith(operation)) {
                final Throwable failure = catchThrowable(callBack::run);
                if (failure != null) {
                    thrown.add(failure);
                }
            }
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"release", "close"})
    void aProviderThatIsUnregisteredOpensNoSession(String operation) {
        environment.register(gpu);
        onCall(operation, this::open);
        environment.unregister(NAME);
        assertThat(thrown)
                .isNotEmpty()
                .allSatisfy(failure -> assertThat(failure)
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("no provider named \"Cuda\""));
        assertThat(gpu.isClosed()).isTrue();
        environment.close();
    }

    @ParameterizedTest
    @ValueSource(strings = {"release", "close"})
    void aProviderThatIsUnregisteredDoesNotChangeTheEnvironment(String operation) {
        environment.register(gpu);
        final ProviderDevice device = environment.devices().getFirst();
        final MemoryInfo memory = device.device().memoryInfos().getFirst();
        final List<Runnable> changes = List.of(
                () -> environment.createSharedAllocator(device, memory, AllocatorOptions.EMPTY),
                () -> environment.unregister(NAME),
                () -> environment.register(FakeFactory.cpu("Cpu")),
                () -> environment.registerAllocator(new FakeAllocator(memory)),
                environment::close);
        onCall(
                operation,
                () -> assertThat(changes)
                        .allSatisfy(
                                change -> assertThatThrownBy(change::run).isInstanceOf(IllegalStateException.class)));
        environment.unregister(NAME);
        assertThat(thrown).isEmpty();
        assertThat(gpu.isClosed()).isTrue();
        assertThat(environment.sharedAllocators()).isEmpty();
        environment.close();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anAllocatorThatIsEndingAcceptsNoAllocation(boolean isClose) {
        environment.register(gpu);
        final List<ManagedAllocator> ending = environment.sharedAllocators();
        onCall(
                "release",
                () -> ending.forEach(allocator -> {
                    final Throwable rejection = catchThrowable(() -> allocator.free(allocator.alloc(1)));
                    assertThat(rejection).isInstanceOf(AllocatorClosedException.class);
                }));
        if (!isClose) {
            environment.unregister(NAME);
        }
        environment.close();
        assertThat(thrown).isEmpty();
        assertThat(gpu.log()).contains("release " + ending.getFirst().info());
    }

    /** A rejected unregistering changes nothing, and a failed one lets the provider be used again. */
    @Test
    void aProviderThatStaysRegisteredIsUsedAgain() {
        environment.register(gpu);
        final ManagedAllocator shared =
                environment.sharedAllocator(location(DeviceType.GPU, 0)).orElseThrow();
        final long block = shared.alloc(1);
        assertThatThrownBy(() -> environment.unregister(NAME)).isInstanceOf(StillInUseException.class);
        open().close();
        shared.free(block);
        gpu.before(Faults.on("close", new DeviceException("cuCtxDestroy", null)));
        assertThatThrownBy(() -> environment.unregister(NAME)).isInstanceOf(DeviceException.class);
        open().close();
        gpu.before(Faults.NONE);
        environment.unregister(NAME);
        environment.close();
    }

    @Test
    void anotherThreadWaitsForTheOutcome() throws Exception {
        environment.register(gpu);
        try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
            final List<Future<Session>> opening = new ArrayList<>();
            onCall("close", () -> opening.add(thread.submit(this::open)));
            environment.unregister(NAME);
            assertThat(gpu.isClosed()).isTrue();
            assertThat(thrown).isEmpty();
            assertThatThrownBy(opening.getFirst()::get).hasRootCauseInstanceOf(IllegalArgumentException.class);
        }
        environment.close();
    }

    @Test
    void aProviderThatCannotBeRegisteredHasNoSession() {
        final List<Session> sessions = new ArrayList<>();
        gpu.before(called -> {
            if (called.startsWith("create CudaPinned")) {
                gpu.before(Faults.NONE);
                thrown.add(catchThrowable(() -> sessions.add(open())));
                throw new DeviceException("cuMemAlloc", null);
            }
        });
        assertThatThrownBy(() -> environment.register(gpu)).isInstanceOf(DeviceException.class);
        assertThat(sessions).isEmpty();
        assertThat(gpu.references()).isZero();
        environment.close();
    }

    /** The close waits for calls of other threads that use the allocator, and not for its own. */
    @Test
    void aSessionIsClosedWithinItsShrink() {
        environment.register(gpu);
        final Session session = open();
        final List<String> calls = new ArrayList<>();
        gpu.created()
                .forEach(made -> made.before(called -> {
                    if (called.equals("shrink")) {
                        calls.add(called);
                        session.close();
                    }
                }));
        session.shrink(session.allocator().info().location());
        assertThat(calls).hasSize(1);
        environment.close();
        assertThat(gpu.references()).isZero();
    }

    /** The call waits for the environment, which waits for the call, but not long. */
    @Test
    void anAllocatorWhoseCallAsksTheEnvironmentStaysRegistered() throws Exception {
        environment.register(gpu);
        final MemoryInfo memory =
                environment.devices().getFirst().device().memoryInfos().getFirst();
        final CountDownLatch isCalled = new CountDownLatch(1);
        final FakeAllocator own = new FakeAllocator(memory);
        final ManagedAllocator managed = environment.registerAllocator(own);
        try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
            final Future<?> stats = thread.submit(() -> {
                managed.whileHeld("stats", () -> {
                    isCalled.countDown();
                    LockSupport.parkNanos(200_000_000);
                    return environment.providers();
                });
            });
            isCalled.await();
            assertThatThrownBy(() -> environment.unregisterAllocator(memory.location()))
                    .isInstanceOf(StillInUseException.class)
                    .hasMessageContaining("a call of it is under way");
            stats.get();
        }
        environment.unregisterAllocator(memory.location());
        environment.close();
    }
}
