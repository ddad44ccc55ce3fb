package allocator.runtime;

import static allocator.testkit.FakeMemory.location;
import static allocator.testkit.FakeMemory.memory;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceType;
import allocator.spi.ForeignAddressException;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeAllocator;
import allocator.testkit.FakeFactory;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Defects of ONNX Runtime's core around plug-in allocators, as found in its newest source or seen in its binary, and
 * that they are none of ours. The numbers are those of the list that was made of them; 1, 2 and 10 to 12 are about
 * arenas.
 */
class OrtDefectsTest {
    private static final MemoryLocation GPU = location(DeviceType.GPU, 0);
    private static final MemoryLocation PINNED = new MemoryLocation(DeviceType.GPU, 0, 0, MemoryType.HOST_ACCESSIBLE);
    private static final MemoryInfo CUDA = memory("Cuda", DeviceType.GPU, 0, MemoryType.DEFAULT);

    private final Environment environment = Environments.empty();
    private final FakeFactory gpu = FakeFactory.gpu("Cuda");

    OrtDefectsTest() {
        environment.register(gpu);
    }

    @AfterEach
    void close() {
        environment.close();
        assertThat(gpu.references()).isZero();
    }

    private Session open(String... keysAndValues) {
        final SessionOptions.Builder options = SessionOptions.builder();
        for (int i = 0; i < keysAndValues.length; i += 2) {
            options.option(keysAndValues[i], keysAndValues[i + 1]);
        }
        return environment.openSession(options.build());
    }

    /** 3: a foreign pointer crashes the process, a second free of a block frees its new owner's. */
    @Test
    void defect3_badFreesAreNamedExceptions() {
        try (Session session = open()) {
            final long block = session.allocator().alloc(8);
            assertThatThrownBy(() -> session.allocator().free(12345)).isInstanceOf(ForeignAddressException.class);
            assertThatThrownBy(() -> session.allocator().free(block + 1)).isInstanceOf(ForeignAddressException.class);
            assertThat(session.liveBlocks()).isOne();
            session.allocator().free(block);
        }
    }

    /** 4: "cpu:0;gpu:0" passes without a GPU, "gpu:0;cpu:0" does not. */
    @Test
    void defect4_anUnknownSecondDeviceIsRejected() {
        try (Session session = open()) {
            for (final String list : new String[] {"gpu:0;cpu:0", "cpu:0;gpu:0"}) {
                final RunOptions options = RunOptions.builder().shrink(list).build();
                assertThatThrownBy(() -> session.run(options, run -> {}))
                        .as(list)
                        .isInstanceOf(InvalidOptionException.class)
                        .hasMessageContaining("cpu:0; there are: Cuda (gpu:0)");
            }
            assertThat(gpu.shared(CUDA).calls("shrink")).isEqualTo(0);
        }
    }

    /** 5: the old allocator is destroyed before the new one exists. */
    @Test
    void defect5_aReplacementThatFailsLeavesTheOldOne() {
        final ManagedAllocator old = environment.sharedAllocator(GPU).orElseThrow();
        assertThatThrownBy(() -> environment.createSharedAllocator(
                        environment.devices().getFirst(),
                        CUDA,
                        AllocatorOptions.of(Map.of("arena.max_mem", "not_a_number"))))
                .isInstanceOf(InvalidOptionException.class);
        assertThat(environment.sharedAllocator(GPU)).containsSame(old);
        old.free(old.alloc(1));
    }

    /** 6: lookups match with the name here and without it there, so that a replaced allocator stays reachable. */
    @Test
    void defect6_oneLocationHasOneSharedAllocator() {
        final FakeFactory pool = FakeFactory.gpu("Pool");
        environment.register(pool);
        final ProviderDevice device = environment.devices().get(1);
        assertThat(device.provider()).isEqualTo("Pool");
        environment.createSharedAllocator(device, CUDA, AllocatorOptions.EMPTY);
        environment.registerAllocator(
                new FakeAllocator.Full(memory("a third name", DeviceType.GPU, 0, MemoryType.DEFAULT)));
        assertThat(environment.sharedAllocators())
                .filteredOn(allocator -> allocator.info().location().equals(GPU))
                .hasSize(1);
        try (Session session = open("session.use_env_allocators", "1")) {
            assertThat(session.allocator().info().name()).isEqualTo("a third name");
        }
        environment.unregisterAllocator(GPU);
        environment.unregister("Pool");
        assertThat(environment.sharedAllocators())
                .filteredOn(allocator -> allocator.info().location().equals(GPU))
                .isEmpty();
    }

    /** 7: what a factory returns is not compared with the request. */
    @Test
    void defect7_anAllocatorOfOtherMemoryIsRejectedForSessionsToo() {
        gpu.returned(allocator -> {
            ((FakeAllocator) allocator).info(memory("Cuda", DeviceType.GPU, 3, MemoryType.DEFAULT));
            return allocator;
        });
        gpu.sharing(false);
        assertThatThrownBy(this::open)
                .isInstanceOf(ProviderException.class)
                .hasMessageContaining("location gpu:3 of vendor 0 instead of gpu:0");
        assertThat(gpu.references()).isEqualTo(2);
    }

    /** 8: the environment's arena exists first, so a session's arena keys come too late, and are not compared. */
    @Test
    void defect8_arenaKeysOfASessionApply() {
        try (Session session = open("ep.cuda.arena.max_mem", "4096")) {
            assertThat(session.allocator().effectiveOptions().value("arena.max_mem"))
                    .isEqualTo("4096");
            assertThatThrownBy(() -> session.allocator().alloc(4097)).isInstanceOf(OutOfMemoryException.class);
        }
    }

    /** 9a: an arena that the user registers cannot be shrunk by a run option. */
    @Test
    void defect9_aRegisteredArenaIsShrunkByRunOption() {
        final FakeAllocator.Full own = new FakeAllocator.Full(memory("mine", DeviceType.GPU, 0, MemoryType.DEFAULT));
        environment.registerAllocator(own);
        try (Session session = open("session.use_env_allocators", "1")) {
            session.run(RunOptions.builder().shrink("gpu:0").build(), run -> {});
        }
        assertThat(own.calls("shrink")).isEqualTo(1);
        environment.unregisterAllocator(GPU);
    }

    /** 9b: a session's allocator has no shrink, nothing can be shrunk outside a run, pinned memory never. */
    @Test
    void defect9_anyMemoryIsShrunkAtAnyTime() {
        try (Session session = open()) {
            session.allocator().free(session.allocator().alloc(8));
            assertThat(session.allocator().shrink().bytesReleased()).isEqualTo(100);
            assertThat(session.shrink(PINNED).bytesReleased()).isZero();
            assertThat(environment.shrink(PINNED).bytesReleased()).isZero();
        }
    }

    /** 13: tensors outlive the library (issue 27512). */
    @Test
    void defect13_aProviderIsNotUnloadedBeneathLiveMemory() {
        final Session session = open();
        final ManagedAllocator allocator = session.allocator();
        final long tensor = allocator.alloc(8);
        session.close();
        assertThatThrownBy(() -> environment.unregister("Cuda"))
                .isInstanceOf(StillInUseException.class)
                .hasMessageContaining("1 live block in Cuda (gpu:0)");
        allocator.free(tensor);
        environment.unregister("Cuda");
        assertThatThrownBy(() -> allocator.free(tensor)).isInstanceOf(AllocatorClosedException.class);
    }

    /** 14: one lock is held while the device works, and every session on it waits. */
    @Test
    @Timeout(value = 30, unit = TimeUnit.SECONDS)
    void defect14_aProviderThatBlocksInOneSessionStopsNoOther() throws Exception {
        final Session slow = open("ep.cuda.arena.max_mem", "4096");
        final FakeAllocator target = gpu.created().stream()
                .filter(allocator ->
                        allocator.effectiveOptions().value("arena.max_mem").equals("4096"))
                .findFirst()
                .orElseThrow();
        final CountDownLatch blocked = new CountDownLatch(1);
        final CountDownLatch release = new CountDownLatch(1);
        target.before(operation -> {
            blocked.countDown();
            try {
                release.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            final Future<Long> waiting = threads.submit(() -> slow.allocator().alloc(8));
            blocked.await();
            try (Session other = open()) {
                other.run(
                        RunOptions.DEFAULT,
                        run -> run.allocator().free(run.allocator().alloc(8)));
                environment.shrink(GPU);
            }
            release.countDown();
            slow.allocator().free(waiting.get());
        }
        slow.close();
    }

    /**
     * 15: the text of an exhausted arena is lost, and it cannot be distinguished from another failure (issue 16307).
     */
    @Test
    void defect15_exhaustionIsTypedAndKeepsItsNumbers() {
        try (Session session = open("ep.cuda.arena.max_mem", "100")) {
            assertThatThrownBy(() -> session.allocator().alloc(101))
                    .isInstanceOfSatisfying(OutOfMemoryException.class, e -> {
                        assertThat(e.shortage().requested()).isEqualTo(101);
                        assertThat(e.shortage().memory()).isEqualTo(CUDA);
                    });
        }
    }

    /** Environment keys are a documented convention that nothing reads. */
    @Test
    void environmentKeysApplyToSessionsToo() {
        final FakeFactory other = FakeFactory.gpu("Other");
        try (Environment configured = Environment.builder()
                .modulePathProviders(false)
                .option("ep_factory.Other.arena.max_mem", "4096")
                .build()) {
            configured.register(other);
            try (Session session = configured.openSession(SessionOptions.DEFAULT)) {
                assertThat(session.allocator().effectiveOptions().value("arena.max_mem"))
                        .isEqualTo("4096");
            }
        }
    }

    /** Issue 18912: an arena made for the environment is not found by looking it up. */
    @Test
    void everySharedAllocatorIsFound() {
        final ManagedAllocator made = environment.createSharedAllocator(
                environment.devices().getFirst(), CUDA, AllocatorOptions.of(Map.of("arena.max_mem", "4096")));
        assertThat(environment.sharedAllocator(CUDA)).containsSame(made);
    }

    /** The C API's shared allocator case: two registrations, three sessions with one allocator, nothing left over. */
    @Test
    void threeSessionsShareOneRegisteredAllocator() {
        final MemoryInfo info = memory("custom", DeviceType.GPU, 0, MemoryType.DEFAULT);
        environment.registerAllocator(new FakeAllocator.Full(info));
        final FakeAllocator.Full custom = new FakeAllocator.Full(info);
        environment.registerAllocator(custom);
        for (int i = 0; i < 3; i++) {
            final String reserves = i == 2 ? "1" : "0";
            try (Session session = open(
                    "session.use_env_allocators",
                    "1",
                    "session.use_device_allocator_for_initializers",
                    reserves,
                    "ep.cuda.arena.max_mem",
                    "1")) {
                session.run(RunOptions.DEFAULT, run -> {
                    run.allocator().free(run.allocator().alloc(8));
                    run.allocator().free(run.allocator().alloc(8));
                });
                assertThat(session.report().allocators().getFirst().source())
                        .isEqualTo(AllocatorReport.Source.REGISTERED);
            }
        }
        assertThat(custom.calls("alloc")).isEqualTo(6);
        assertThat(custom.live()).isEmpty();
        environment.unregisterAllocator(GPU);
    }

    /** The session case of ONNX Runtime: a run with the option gives back what the runs before took. */
    @Test
    void memoryOfEarlierRunsIsGivenBackByARunThatShrinks() {
        try (Session session = open("ep.cuda.arena.max_mem", "100000")) {
            session.run(
                    RunOptions.DEFAULT,
                    run -> run.allocator().free(run.allocator().alloc(8)));
            assertThat(session.allocator().stats().bytesHeld()).isEqualTo(100);
            final RunReport report = session.run(
                    RunOptions.builder().option(RunOptions.SHRINK_KEY, "gpu:0").build(),
                    run -> run.allocator().free(run.allocator().alloc(8)));
            assertThat(report.shrunk().getFirst().report().bytesReleased()).isEqualTo(200);
            assertThat(session.allocator().stats().bytesHeld()).isZero();
        }
    }
}
