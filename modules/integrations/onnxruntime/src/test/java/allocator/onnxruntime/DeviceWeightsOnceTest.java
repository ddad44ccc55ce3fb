package allocator.onnxruntime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.InvalidOptionException;
import allocator.testkit.Share;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Sessions with equal weights on one simulated device. */
class DeviceWeightsOnceTest extends SimulatedSessions {
    private static final long WEIGHTS = 6 * MIB;
    private static final long MORE = 4 * MIB - 256;
    private static final long HELD = WEIGHTS + 4 * MIB;

    private AllocatorSession openEqual() throws OrtException {
        return open(50, WEIGHTS, MORE);
    }

    private long pinnedBytes() {
        return memory.pinned(0).stats().bytesInUse();
    }

    private void requireHeld(long byteSize) {
        assertEquals(byteSize, usedBytes());
        assertEquals(byteSize, memory.gpu(0).stats().bytesHeld());
    }

    @Test
    void theOptionForMemoryOfTheProcessorIsRejectedWithoutSuchMemory() {
        install();
        memory.close();
        final OnnxRuntimeAllocators.Builder installation = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                .gpu(GpuMemory.of(provider))
                .option(OnnxRuntimeAllocators.SHARE_WEIGHTS, "1");
        assertThatThrownBy(installation::install)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("memory.share_weights is for CPU memory");
    }

    @Test
    void eightSessionsTakeTheMemoryOfOne() throws OrtException {
        install();
        for (int i = 0; i < 8; i++) {
            openEqual();
            requireHeld(HELD);
        }
        final AllocatorSession other = open(70, WEIGHTS);
        requireHeld(HELD + WEIGHTS);
        final InstalledMemory gpu = memory.gpu(0);
        assertEquals(7 * (WEIGHTS + MORE), gpu.bytesShared());
        assertThat(gpu).asString().contains("of which shared weights save " + gpu.bytesShared());
        assertEquals(WEIGHTS + MORE, sessions.getFirst().gpu(0).bytesShared());
        assertEquals(WEIGHTS + MORE, sessions.getFirst().stats().bytesInUse(), "a budget counts them for each");
        assertEquals(WEIGHTS, other.gpu(0).bytesShared(), "the first with its bytes");
        for (final AllocatorSession session : sessions) {
            run(session);
            requireWeights(session);
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2})
    void theyCloseInAnyOrderAsleepOrAwake(long seed) throws OrtException {
        install();
        for (int i = 0; i < 6; i++) {
            openEqual();
        }
        final Random random = new Random(seed);
        final List<AllocatorSession> open = new ArrayList<>(sessions);
        Collections.shuffle(open, random);
        while (!open.isEmpty()) {
            for (final AllocatorSession session : open) {
                if (random.nextBoolean()) {
                    session.sleep();
                } else {
                    run(session);
                    requireWeights(session);
                }
            }
            final boolean areAsleep = open.stream().allMatch(AllocatorSession::isAsleep);
            requireHeld(areAsleep ? 0 : HELD);
            close(open.removeLast());
        }
        requireHeld(0);
        assertEquals(0, pinnedBytes());
    }

    @Test
    void whoWakesIsMappedToTheCopyOfOthersWithoutACopy() throws OrtException {
        install("arena.max_mem", String.valueOf(2 * HELD));
        final AllocatorSession first = openEqual();
        final AllocatorSession second = openEqual();
        final AllocatorSession third = openEqual();
        assertEquals(WEIGHTS + MORE, first.sleep());
        requireHeld(HELD);
        final long pinned = pinnedBytes();
        final long reads = driver.controls().calls(CudaFunction.MEMCPY_DTOH_ASYNC);
        second.sleep();
        requireHeld(HELD);
        third.sleep();
        requireHeld(0);
        assertEquals(reads, driver.controls().calls(CudaFunction.MEMCPY_DTOH_ASYNC), "one copy serves all");
        assertEquals(pinned, pinnedBytes(), "one copy on the host");
        assertEquals(0, memory.gpu(0).bytesShared());
        run(second);
        final long writes = driver.controls().calls(CudaFunction.MEMCPY_HTOD_ASYNC);
        run(first);
        run(third);
        assertEquals(writes, driver.controls().calls(CudaFunction.MEMCPY_HTOD_ASYNC));
        requireHeld(HELD);
        for (final AllocatorSession session : sessions) {
            assertFalse(session.isAsleep());
            requireWeights(session);
        }
        close(second);
        first.sleep();
        third.sleep();
        assertEquals(WEIGHTS + MORE, third.wake());
        requireWeights(third);
        assertEquals(pinned, pinnedBytes());
    }

    @Test
    void aWriteFaultsAndChangesNoSession() throws OrtException {
        install();
        for (int i = 0; i < 2; i++) {
            openEqual();
        }
        sessions.getFirst().sleep();
        sessions.getFirst().wake();
        for (final long address : values.keySet()) {
            assertThatThrownBy(() -> driver.memory().memsetD8(0, address, (byte) 0, 1))
                    .isInstanceOf(CudaException.class);
        }
        for (final AllocatorSession session : sessions) {
            requireWeights(session);
        }
    }

    @Test
    void aLimitMakesRoomFromAllThatShare() throws OrtException {
        install("arena.max_mem", String.valueOf(2 * HELD));
        openEqual();
        openEqual();
        final AllocatorSession other = open(70, WEIGHTS, MORE);
        other.begin();
        final long block = exported(other).alloc(HELD / 2);
        assertThat(block).isNotZero();
        assertTrue(sessions.get(0).isAsleep() && sessions.get(1).isAsleep());
        exported(other).free(block);
        other.end();
        run(sessions.get(1));
        requireWeights(sessions.get(1));
    }

    @Test
    void withoutVirtualMemoryEachHasItsOwnAndTheReasonIsGiven() throws OrtException {
        install(SimulatedCudaDriver.builder().withoutVirtualMemory());
        openEqual();
        openEqual();
        assertThat(memory.gpu(0).sharingObstacle()).get().asString().contains("virtual memory");
        assertEquals(0, memory.gpu(0).bytesShared());
        assertEquals(0, sessions.getFirst().gpu(0).bytesShared());
    }

    @Test
    void anOptionThatIsNoFlagIsRejected() throws OrtException {
        sharesWeights("sometimes");
        assertThatThrownBy(() -> install()).isInstanceOf(InvalidOptionException.class);
        provider.close();
        driver.close();
        sharesWeights("1");
        install();
    }

    @Test
    void shrinksAndSnapshotsBesideItFindTheBooksTrue() throws Exception {
        install();
        openEqual();
        openEqual();
        final CountDownLatch isDone = new CountDownLatch(1);
        final Thread other = Thread.ofPlatform().start(() -> {
            while (isDone.getCount() > 0) {
                memory.shrink();
                final AllocatorStats stats = memory.gpu(0).stats();
                assertThat(stats.bytesHeld()).isBetween(0L, 2 * HELD);
                assertThat(memory.gpu(0).use("test").inspect().get()).isPresent();
            }
        });
        for (int i = 0; i < 20; i++) {
            final AllocatorSession session = sessions.get(i % 2);
            session.sleep();
            close(openEqual());
            run(session);
        }
        isDone.countDown();
        other.join();
        for (final AllocatorSession session : sessions.subList(0, 2)) {
            requireWeights(session);
        }
        requireHeld(HELD);
    }

    /** Opening, sleep, wake and close of three sessions: after each step all that are awake have their weights. */
    @ParameterizedTest
    @CsvSource({CudaResult.OUT_OF_MEMORY + ", false", CudaResult.INVALID_VALUE + ", true"})
    void nothingIsLostWhicheverCallFails(int result, boolean isReversed) throws OrtException {
        install();
        long calls = 1;
        for (long number = 1L + result % Share.step(); number <= calls; number += Share.step()) {
            final List<AllocatorSession> open = new ArrayList<>(List.of(open(50, MORE), open(50, MORE), open(60)));
            reserve(open.getLast(), 50, MORE);
            final long before = driver.controls().calls();
            driver.controls().failOnCall(number, result);
            memory.gpu(0).weights().share(exported(open.getLast()));
            if (isReversed) {
                Collections.reverse(open);
            }
            open.forEach(session -> attempt(session::sleep));
            open.forEach(session -> attempt(session::wake));
            calls = driver.controls().calls() - before;
            driver.controls().clearFailures();
            for (final AllocatorSession session : open) {
                run(session);
                requireWeights(session);
            }
            memory.gpu(0).shrink();
            final boolean isShared = memory.gpu(0).sharingObstacle().isEmpty();
            requireHeld(isShared ? 4 * MIB : 8 * MIB);
            for (final AllocatorSession session : open) {
                close(session);
            }
            requireHeld(0);
            if (!isShared) {
                closeAll();
                sessions.clear();
                install();
            }
        }
    }

    private static void attempt(Runnable step) {
        try {
            step.run();
        } catch (AllocatorException e) {
            // What holds then is compared later.
        }
    }

    @Test
    void aSessionThatHasLostItsWeightsIsNotOpened() throws OrtException {
        install();
        openEqual();
        final AllocatorSession lost = open(50);
        reserve(lost, 50, WEIGHTS);
        driver.controls().failAlways(CudaFunction.MEM_MAP, CudaResult.INVALID_VALUE);
        assertThatThrownBy(() -> memory.gpu(0).weights().share(exported(lost)))
                .isInstanceOf(DeviceException.class)
                .hasMessageContaining("session 1 has lost weights");
        driver.controls().clearFailures();
        assertThat(memory.gpu(0).sharingObstacle()).isPresent();
        close(lost);
        requireHeld(HELD);
        requireWeights(sessions.getFirst());
    }

    @Test
    void aWeightAtTheAddressOfAnEarlierOneIsCopiedAnew() throws OrtException {
        install();
        final AllocatorSession session = open(50, WEIGHTS);
        session.sleep();
        run(session);
        exported(session).forEach((address, byteSize, name) -> exported(session).free(address));
        reserve(session, 90, WEIGHTS);
        session.sleep();
        run(session);
        requireWeights(session);
    }

    /** Each call of the driver may fail; a round ends with all asleep, then all awake. */
    @Test
    void threadsLetSessionsSleepAndReadTheirWeightsWhileCallsFail() throws Exception {
        install();
        for (int i = 0; i < 6; i++) {
            open(i % 2 == 0 ? 50 : 80, WEIGHTS, MORE);
        }
        for (int round = 0; round < Share.of(12); round++) {
            final List<CompletableFuture<Void>> threads = new ArrayList<>();
            for (int thread = 0; thread < 3; thread++) {
                final Random random = new Random(10L * round + thread);
                threads.add(CompletableFuture.runAsync(() -> {
                    for (int i = 0; i < 30; i++) {
                        sleepOrRead(sessions.get(random.nextInt(sessions.size())), random);
                    }
                }));
            }
            for (final CompletableFuture<Void> thread : threads) {
                thread.get(1, TimeUnit.MINUTES);
            }
            driver.controls().clearFailures();
            sessions.forEach(AllocatorSession::sleep);
            memory.gpu(0).shrink();
            requireHeld(0);
            for (final AllocatorSession session : sessions) {
                run(session);
                requireWeights(session);
            }
            requireHeld(2 * HELD);
        }
    }

    private void sleepOrRead(AllocatorSession session, Random random) {
        if (random.nextInt(8) == 0) {
            driver.controls().failOnCall(random.nextInt(1, 20), CudaResult.INVALID_VALUE);
        }
        attempt(() -> {
            if (random.nextBoolean()) {
                session.sleep();
                return;
            }
            session.begin();
            try {
                requireWeights(session);
            } catch (CudaException e) {
                // The read of the test failed.
            } finally {
                session.end();
            }
        });
    }
}
