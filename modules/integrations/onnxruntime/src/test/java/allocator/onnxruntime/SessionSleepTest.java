package allocator.onnxruntime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnxruntime.OrtException;
import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.provider.support.budget.Budget;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.Share;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sessions that sleep, each with weights of its own; with {@code memory.share_weights} and without. */
@ParameterizedClass
@ValueSource(strings = {"0", "1"})
class SessionSleepTest extends SimulatedSessions {
    private static final int CYCLES = 10_000;

    @Parameter
    private String sharing;

    @BeforeEach
    void setSharing() {
        sharesWeights(sharing);
    }

    @Test
    void aSessionGivesItsWeightsBackAndARunBringsThem() throws OrtException {
        install();
        final AllocatorSession session = open(36 * MIB, 3 * MIB - 256);
        final long awake = usedBytes();
        assertFalse(session.isAsleep());
        assertEquals(39 * MIB - 256, session.sleep());
        assertTrue(session.isAsleep());
        assertEquals(0, usedBytes());
        assertEquals(0, memory.gpu(0).stats().bytesHeld());
        assertEquals(39 * MIB - 256, session.gpu(0).bytesAsleep());
        assertThat(session.gpu(0)).asString().contains("of which 40894208 are asleep");
        assertEquals(0, session.sleep(), "it sleeps already");
        run(session);
        assertFalse(session.isAsleep());
        assertEquals(awake, usedBytes());
        requireWeights(session);
        assertEquals(0, session.wake(), "it is awake already");
        assertEquals(0, session.gpu(0).bytesAsleep());
        session.sleep();
        assertEquals(39 * MIB - 256, session.wake());
        requireWeights(session);
    }

    @Test
    void whatOnnxRuntimeAllocatesWhileItLoadsIsAReserve() throws OrtException {
        install();
        final AllocatorSession session = open();
        exported(session).setLeastReserve(2 * MIB);
        final long weights = exported(session).alloc(4 * MIB);
        values.put(weights, (byte) 9);
        driver.memory().memsetD8(0, weights, (byte) 9, 3 * MIB);
        driver.memory().memsetD8(0, weights + 3 * MIB, (byte) -9, MIB);
        driver.devices().ctxSynchronize(0);
        exported(session).setLeastReserve(Long.MAX_VALUE);
        final long result = exported(session).alloc(4 * MIB);
        assertEquals(4 * MIB, session.sleep());
        session.wake();
        exported(session).free(result);
        requireWeights(session);
    }

    @Test
    void aSessionWithoutSuchMemoryCannotSleep() throws OrtException {
        install(SimulatedCudaDriver.builder().withoutVirtualMemory());
        final AllocatorSession session = open(4 * MIB);
        assertThatThrownBy(session::sleep)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("session 0 has no GPU memory that can sleep")
                .hasMessageContaining("arena.paged_reserves")
                .hasMessageContaining("virtual memory");
        assertEquals(0, session.wake());
        run(session);
    }

    @Test
    void aSessionWithoutLargeWeightsCannotSleep() throws OrtException {
        install();
        final AllocatorSession session = open(MIB);
        assertThatThrownBy(session::sleep)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("no weights of 2 MiB or more");
        assertFalse(session.isAsleep());
    }

    @Test
    void aClosedSessionCannotSleepAndASleepingOneIsClosed() throws OrtException {
        install();
        final AllocatorSession session = open(4 * MIB);
        session.sleep();
        close(session);
        close(session);
        assertFalse(session.isAsleep());
        assertThrows(IllegalStateException.class, session::sleep);
        assertEquals(0, memory.memories().getLast().stats().bytesInUse(), "the copy on the host");
    }

    @Test
    void sleepWaitsForARunAndTheNextRunForTheSleep() throws Exception {
        install();
        final AllocatorSession session = open(4 * MIB);
        session.begin();
        final Thread sleeper = Thread.ofPlatform().start(session::sleep);
        while (sleeper.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
        assertFalse(session.isAsleep());
        assertThrows(IllegalStateException.class, session::close);
        final Thread next = Thread.ofPlatform().start(() -> run(session));
        while (next.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
        session.end();
        sleeper.join();
        next.join();
        assertFalse(session.isAsleep());
        requireWeights(session);
    }

    @Test
    void withoutRoomAWakeSaysWhatItNeedsAndTheSessionSleepsOn() throws OrtException {
        install("arena.max_mem", String.valueOf(40 * MIB));
        final AllocatorSession first = open(36 * MIB);
        first.sleep();
        final AllocatorSession second = open(8 * MIB);
        second.begin(); // a session that runs does not make room
        assertThatThrownBy(first::begin)
                .isInstanceOf(OutOfMemoryException.class)
                .hasMessageContaining("session 0 cannot wake: its weights need 36.0 MiB")
                .hasMessageContaining("free under the limit are 32.0 MiB");
        assertTrue(first.isAsleep());
        second.end();
        run(first);
        requireWeights(first);
        assertTrue(second.isAsleep(), "it made room");
        assertEquals(36 * MIB, memory.gpu(0).stats().bytesHeld());
    }

    @Test
    void theSessionThatIsUsedLeastMakesRoomForAnAllocation() throws OrtException {
        install("arena.max_mem", String.valueOf(40 * MIB));
        final AllocatorSession often = open(8 * MIB);
        final AllocatorSession seldom = open(8 * MIB);
        final AllocatorSession running = open(8 * MIB);
        for (int i = 0; i < 9; i++) {
            run(often);
            run(i == 0 ? seldom : often);
        }
        final AllocatorSession other = open();
        running.begin();
        other.begin();
        final long block = exported(other).alloc(20 * MIB);
        assertThat(block).as(() -> String.valueOf(other.lastFailure())).isNotZero();
        assertTrue(seldom.isAsleep());
        assertFalse(often.isAsleep());
        assertFalse(running.isAsleep());
        exported(other).free(block);
        other.end();
        running.end();
        run(seldom);
        requireWeights(seldom);
        assertFalse(often.isAsleep(), "a shrink made room");
    }

    @Test
    void aWakeThatAShrinkCannotServeLeavesTheMemoryOfRuns() throws OrtException {
        install("arena.max_mem", String.valueOf(34 * MIB));
        final AllocatorSession first = open(18 * MIB);
        first.sleep();
        final AllocatorSession second = open(18 * MIB);
        final AllocatorSession third = open();
        exported(third).free(exported(third).alloc(12 * MIB)); // as a run does
        final long unused = unused();
        assertTrue(unused >= 12 * MIB);
        run(first);
        assertTrue(second.isAsleep());
        assertEquals(unused, unused());
    }

    /** Its capture holds the monitor, which another session's wake needs to put this one to sleep. */
    @Test
    void aSessionThatSleepsIsNotWokenByACapture() throws OrtException {
        install();
        final AllocatorSession session = open(4 * MIB);
        session.sleep();
        assertThatThrownBy(session::beginCapture)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("fell asleep");
        assertTrue(session.isAsleep());
        run(session);
        session.failCapture(session.beginCapture());
    }

    private long unused() {
        final AllocatorStats stats = memory.gpu(0).stats();
        return stats.bytesHeld() - stats.bytesInUse();
    }

    @Test
    void aRequestThatNoSleepCouldServePutsNoSessionToSleep() throws OrtException {
        install("arena.max_mem", String.valueOf(40 * MIB));
        final AllocatorSession session = open(8 * MIB);
        final AllocatorSession other = open();
        assertEquals(0, exported(other).alloc(41 * MIB));
        assertFalse(session.isAsleep());
    }

    @Test
    void aLimitOfTheDeviceMakesSessionsTakeTurns() throws OrtException {
        install();
        final Budget device = Budget.ofMemory(memory.gpu(0).info());
        device.setLimit(14 * MIB);
        try {
            for (int i = 0; i < 5; i++) {
                open(4 * MIB);
            }
            final Random random = new Random(1);
            for (int i = 0; i < 50; i++) {
                final AllocatorSession session = sessions.get(random.nextInt(5));
                session.begin();
                requireWeights(session);
                session.end();
                assertThat(sessions).filteredOn(AllocatorSession::isAsleep).hasSize(2);
                assertEquals(12 * MIB, usedBytes());
            }
        } finally {
            device.setLimit(Long.MAX_VALUE);
        }
    }

    @Test
    void anIdleSessionSleepsByItself() throws Exception {
        install();
        final AllocatorSession session = open(4 * MIB);
        assertThrows(IllegalArgumentException.class, () -> session.setIdleSleep(Duration.ZERO));
        session.setIdleSleep(Duration.ofMillis(20));
        final AllocatorSession other = open(4 * MIB);
        final AllocatorSession small = open(MIB);
        assertThrows(IllegalStateException.class, () -> small.setIdleSleep(Duration.ofDays(1)));
        for (int i = 0; i < 2; i++) {
            while (!session.isAsleep()) {
                Thread.sleep(1);
            }
            run(session);
            session.begin();
            Thread.sleep(60);
            assertFalse(session.isAsleep(), "it runs");
            session.end();
        }
        assertFalse(other.isAsleep());
    }

    @Test
    void shrinksAndSnapshotsBesideItFindTheBooksTrue() throws Exception {
        install("arena.max_mem", String.valueOf(64 * MIB));
        final AllocatorSession session = open(18 * MIB);
        final CountDownLatch isDone = new CountDownLatch(1);
        final Thread other = Thread.ofPlatform().start(() -> {
            while (isDone.getCount() > 0) {
                memory.shrink();
                final AllocatorStats stats = memory.gpu(0).stats();
                assertThat(stats.bytesHeld()).isIn(0L, 18 * MIB);
                assertThat(memory.gpu(0).use("test").inspect().get()).isPresent();
            }
        });
        for (int i = 0; i < 20; i++) {
            session.sleep();
            run(session);
        }
        isDone.countDown();
        other.join();
        requireWeights(session);
    }

    /** Each call of the driver fails in turn, once: the state is that before or after, and nothing is lost. */
    @ParameterizedTest
    @ValueSource(ints = {CudaResult.OUT_OF_MEMORY, CudaResult.INVALID_VALUE})
    void nothingIsLostWhicheverCallFails(int result) throws OrtException {
        cycles(result, Share.of(CYCLES / 2) / 10);
    }

    @Tag("thorough")
    @ParameterizedTest
    @ValueSource(ints = {CudaResult.OUT_OF_MEMORY, CudaResult.INVALID_VALUE})
    void nothingIsLostInTenThousandCycles(int result) throws OrtException {
        cycles(result, CYCLES / 2);
    }

    private void cycles(int result, int cycles) throws OrtException {
        install(SimulatedCudaDriver.builder());
        final AllocatorSession session = open(2 * MIB, 4 * MIB);
        final Random random = new Random(result);
        int calls = 1;
        for (int cycle = 0; cycle < cycles; cycle++) {
            final long before = driver.controls().calls();
            driver.controls().failOnCall(1 + random.nextInt(calls), result);
            try {
                session.sleep();
                assertTrue(session.isAsleep());
            } catch (AllocatorException e) {
                assertThat(session.isAsleep()).as("after " + e).isIn(false, true);
            }
            try {
                run(session);
            } catch (AllocatorException e) {
                assertTrue(session.isAsleep(), () -> "after " + e);
                driver.controls().clearFailures();
                assertEquals(0, usedBytes(), () -> "after " + e);
            }
            calls = (int) Math.max(calls, driver.controls().calls() - before);
            driver.controls().clearFailures();
            if (session.isAsleep()) {
                session.wake();
            }
            requireWeights(session);
            assertEquals(6 * MIB, memory.gpu(0).stats().bytesHeld());
            assertEquals(6 * MIB, usedBytes());
        }
    }

    @Test
    void aDeviceThatCannotBeWaitedForKeepsTheSessionAwake() throws OrtException {
        install();
        final AllocatorSession session = open(4 * MIB, 4 * MIB);
        driver.controls().failAlways(CudaFunction.CTX_SYNCHRONIZE, CudaResult.INVALID_VALUE);
        assertThrows(DeviceException.class, session::sleep);
        assertFalse(session.isAsleep());
        driver.controls().clearFailures();
        requireWeights(session);
        assertEquals(8 * MIB, session.sleep());
        driver.controls().failOnCall(CudaFunction.MEM_MAP, 2, CudaResult.INVALID_VALUE);
        assertThrows(DeviceException.class, session::wake);
        assertTrue(session.isAsleep());
        assertEquals(0, usedBytes());
        driver.controls().clearFailures();
        run(session);
        requireWeights(session);
    }
}
