package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.arena.StreamArenaAllocator;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.OutOfMemoryException;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sessions under budgets and limits, and the failures that they report. */
class SessionLimitsTest {
    private final OrtEnvironment environment = OrtEnvironment.getEnvironment();
    private final HeapAllocator heap = new HeapAllocator();

    @Nested
    class Budgets {
        @Test
        void anExceededBudgetIsTheCauseAndTheSessionRemainsUsable() throws OrtException {
            try (OnnxRuntimeAllocators memory = Sessions.install(heap);
                    AllocatorSession session = Sessions.open(memory, SessionSettings.DEFAULT.withName("tiny"))) {
                final int[] expected = Models.run(session::run, 1, 8, 1);
                final long budget = session.stats().bytesInUse() + 400_000;
                session.setBudget(budget);

                final OrtException failure =
                        assertThrows(OrtException.class, () -> Models.run(session::run, 4, 128, 1));

                final OutOfMemoryException cause = assertInstanceOf(OutOfMemoryException.class, failure.getCause());
                assertEquals(budget, cause.shortage().limit());
                assertTrue(String.valueOf(cause.getMessage()).contains("tiny"), cause::toString);
                assertTrue(String.valueOf(failure.getMessage()).contains("the allocator of tiny cannot allocate"));
                assertArrayEquals(expected, Models.run(session::run, 1, 8, 1));
                assertTrue(session.stats().peakBytesInUse() <= budget);
                assertEquals(1, session.stats().numFailedAllocs());
            }
            assertEquals(0, heap.liveBlocks());
        }

        @Test
        void aRequestLargerThanTheBudgetIsNamedSo() throws OrtException {
            try (OnnxRuntimeAllocators memory = Sessions.install(heap);
                    AllocatorSession session = Sessions.open(memory, SessionSettings.DEFAULT.withName("tiny"))) {
                session.setBudget(1);
                final OrtException failure =
                        assertThrows(OrtException.class, () -> Models.run(session::run, 4, 128, 1));
                final OutOfMemoryException cause = assertInstanceOf(OutOfMemoryException.class, failure.getCause());
                final String message = String.valueOf(cause.getMessage());
                assertTrue(message.startsWith("the budget of tiny is smaller than the request ["), message);
                assertTrue(message.contains(": charged ") && message.endsWith(" of 1 bytes]"), message);
                assertEquals("the budget of tiny", cause.shortage().limitedBy());
            }
        }

        @Test
        void aClosedInputIsRejected() throws OrtException {
            final OnnxTensor closed = OnnxTensor.createTensor(environment, new long[1][8]);
            closed.close();
            try (OnnxRuntimeAllocators memory = Sessions.install(heap);
                    AllocatorSession session = Sessions.open(memory);
                    OrtSession.RunOptions options = new OrtSession.RunOptions()) {
                final Map<String, OnnxTensor> inputs = Map.of("input_ids", closed);
                final IllegalStateException failure =
                        assertThrows(IllegalStateException.class, () -> session.run(inputs));
                assertEquals("the input input_ids is closed", failure.getMessage());
                assertThrows(IllegalStateException.class, () -> session.run(inputs, Set.of(), options));
            }
        }

        @Test
        void eachSessionHasItsOwnWithinTheSharedOne() throws OrtException {
            try (OnnxRuntimeAllocators memory = Sessions.install(heap);
                    AllocatorSession poor = Sessions.open(memory, SessionSettings.DEFAULT.withName("poor"));
                    AllocatorSession rich = Sessions.open(memory, SessionSettings.DEFAULT.withName("rich"))) {
                poor.setBudget(poor.stats().bytesInUse());
                assertThrows(OrtException.class, () -> Models.run(poor::run, 1, 64, 1));
                assertNotNull(Models.run(rich::run, 1, 64, 1));

                memory.setBudget(memory.bytesInUse());
                poor.setBudget(AllocatorStats.UNLIMITED);
                final OrtException failure = assertThrows(OrtException.class, () -> Models.run(rich::run, 1, 64, 1));
                assertTrue(String.valueOf(failure.getCause()).contains("the budget that all sessions share"));
                memory.setBudget(AllocatorStats.UNLIMITED);
                assertNotNull(Models.run(poor::run, 1, 64, 1));
            }
        }

        @Test
        void aFailedLoadLeavesNoMemory() throws OrtException {
            try (OnnxRuntimeAllocators memory = Sessions.install(heap)) {
                final OrtException failure = assertThrows(
                        OrtException.class, () -> Sessions.open(memory, SessionSettings.DEFAULT.withBudget(1_000_000)));

                assertInstanceOf(OutOfMemoryException.class, failure.getCause());
                assertEquals(0, memory.bytesInUse());
                try (AllocatorSession session = Sessions.open(memory)) {
                    assertTrue(
                            session.stats().numReserves() > 0,
                            () -> session.stats().toString());
                    assertNotNull(Models.run(session::run, 1, 8, 1));
                }
            }
        }

        @Test
        void anyAllocationOfARunMayFail() throws OrtException {
            try (OnnxRuntimeAllocators memory = Sessions.install(heap);
                    AllocatorSession session = Sessions.open(memory)) {
                final int[] expected = Models.run(session::run, 2, 16, 1);
                final long weights = session.stats().bytesInUse();
                final long peak = session.stats().peakBytesInUse();
                int failed = 0;
                for (long budget = weights; budget < peak; budget += 4096) {
                    session.setBudget(budget);
                    try {
                        Models.run(session::run, 2, 16, 1);
                    } catch (OrtException e) {
                        assertInstanceOf(OutOfMemoryException.class, e.getCause());
                        failed++;
                    }
                    assertTrue(session.stats().bytesInUse() <= budget);
                }
                assertTrue(failed > 10, "failed runs " + failed);
                session.setBudget(AllocatorStats.UNLIMITED);
                assertArrayEquals(expected, Models.run(session::run, 2, 16, 1));
                assertEquals(weights, session.stats().bytesInUse());
            }
        }
    }

    @Nested
    class Limits {
        /** Returns an arena over memory that is counted separately, to the byte. */
        private static Allocator arenaOver(Allocator upstream, long limit) {
            final AllocatorOptions options = AllocatorOptions.of(Map.of("arena.max_mem", Long.toString(limit)));
            return new StreamArenaAllocator(new BfcArena(upstream, ArenaConfig.from(options)), options);
        }

        @ParameterizedTest
        @ValueSource(booleans = {true, false})
        void aLimitOf64MiBIsNotExceededByOneByte(boolean isArena) throws OrtException {
            final long cap = 64L << 20;
            final Allocator capped = isArena ? arenaOver(heap, cap) : heap;
            try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(environment)
                            .allocator(capped)
                            .budget(isArena ? AllocatorStats.UNLIMITED : cap)
                            .install();
                    AllocatorSession session = Sessions.open(memory)) {
                int failed = 0;
                for (int sentences = 1; sentences <= 61; sentences += 5) {
                    final int[] expected = Models.run(session::run, 1, 16, 1);
                    try {
                        Models.run(session::run, sentences, 256, 1);
                    } catch (OrtException e) {
                        assertInstanceOf(OutOfMemoryException.class, e.getCause());
                        failed++;
                    }
                    assertArrayEquals(expected, Models.run(session::run, 1, 16, 1));
                    assertTrue(heap.stats().peakBytesHeld() <= cap, () -> "held " + heap.stats());
                    assertTrue(session.stats().peakBytesInUse() <= cap, () -> "in use " + session.stats());
                }
                assertTrue(failed > 5, "failed runs " + failed);
                assertTrue(heap.stats().peakBytesHeld() > cap / 2, () -> "held " + heap.stats());
            }
        }
    }

    @Nested
    class Failures {
        @Test
        void ofARunOfOnnxRuntimesSessionAreExplainedOnRequest() throws OrtException {
            try (OnnxRuntimeAllocators memory = Sessions.install(heap);
                    AllocatorSession other = Sessions.open(memory, SessionSettings.DEFAULT.withName("other"));
                    AllocatorSession session = Sessions.open(memory, SessionSettings.DEFAULT.withName("tiny"))) {
                session.setBudget(1);
                final OrtException thrown =
                        assertThrows(OrtException.class, () -> Models.run(session.session()::run, 1, 8, 1));
                assertNull(thrown.getCause());
                assertTrue(
                        String.valueOf(thrown.getMessage())
                                .contains("if it has none, OnnxRuntimeAllocators.explained(e) sets it"),
                        thrown::toString);
                assertSame(thrown, memory.explained(thrown));
                final OutOfMemoryException cause = assertInstanceOf(OutOfMemoryException.class, thrown.getCause());
                assertEquals("the budget of tiny", cause.shortage().limitedBy());
                assertTrue(other.takeFailure().isEmpty());
            }
        }

        @Test
        void nameTheSharedBudgetAndTheSharesOfTheSessions() throws OrtException {
            try (OnnxRuntimeAllocators memory = Sessions.install(heap);
                    AllocatorSession one = Sessions.open(memory, SessionSettings.DEFAULT.withName("one"));
                    AllocatorSession two = Sessions.open(memory, SessionSettings.DEFAULT.withName("two"))) {
                memory.setBudget(memory.bytesInUse());
                assertThrows(OrtException.class, () -> Models.run(two::run, 1, 8, 1));
                final String dump = two.lastFailure().orElseThrow().dump();
                assertTrue(dump.contains("session budget none, budget of all sessions "), dump);
                assertTrue(dump.contains("\nthe budget that all sessions share\n  one: "), dump);
                assertTrue(dump.contains("\n  two: "), dump);
                assertEquals(
                        heap.info() + ": " + one.stats().bytesInUse() + " bytes in use by one",
                        one.memories().getFirst().toString());
            }
        }

        @Test
        void nameSessionModelAndLiveBlocks() throws OrtException {
            try (OnnxRuntimeAllocators memory = Sessions.install(heap)) {
                try (OrtSession plain = Sessions.openPlain(true);
                        AllocatorSession session = Sessions.open(memory, SessionSettings.DEFAULT.withName("tiny"))) {
                    session.setBudget(session.stats().bytesInUse());
                    assertThrows(OrtException.class, () -> Models.run(session.session()::run, 1, 8, 1));
                    final AllocationFailure failure = session.takeFailure().orElseThrow();
                    assertEquals("tiny", failure.session());
                    assertEquals(Sessions.MODEL, failure.model());
                    assertEquals(Thread.currentThread().getName(), failure.thread());
                    assertTrue(failure.byteSize() > 0);
                    assertTrue(failure.outOfMemory().isPresent());
                    assertTrue(failure.dump().startsWith("session tiny, model " + Sessions.MODEL), failure::dump);
                    assertTrue(failure.dump().contains("largest sizes:"), failure::dump);
                    assertTrue(failure.dump().contains("; allocator limit none\n"), failure::dump);
                    assertTrue(session.takeFailure().isEmpty());
                    assertSame(failure, session.lastFailure().orElseThrow());
                    assertThrows(OrtException.class, () -> Models.run(session::run, 1, 8, 1));
                    assertTrue(session.takeFailure().isEmpty());
                    assertTrue(session.lastFailure().orElseThrow().dump().contains("model " + Sessions.MODEL));

                    heap.setLimit(heap.stats().bytesInUse());
                    final OrtException thrown = assertThrows(OrtException.class, () -> Models.run(plain::run, 1, 8, 1));
                    assertNull(thrown.getCause());
                    assertSame(thrown, memory.explained(thrown));
                    assertInstanceOf(OutOfMemoryException.class, thrown.getCause());
                }
            }
        }
    }
}
