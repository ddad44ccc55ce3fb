package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import allocator.provider.support.AllocatorWrapper;
import allocator.provider.support.platform.OperatingSystem;
import allocator.provider.support.platform.Platform;
import allocator.spi.Allocator;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.InspectableAllocator;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.PagedReserves;
import allocator.spi.SyncStream;
import allocator.spi.UnsupportedMemoryException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sessions of one model on an installation with {@code memory.share_weights=1}. */
class SharedWeightsTest {
    /** Compares blocks of sessions with one another, and fails on demand. */
    private static final class Failing extends HeapAllocator implements PagedReserves {
        private int shares;

        @Override
        public long share(long address) {
            shares++;
            throw new OutOfMemoryException(
                    "the test has no mapping", Shortage.ofDevice(info(), LEAST_BYTES, OutOfMemoryException.UNKNOWN));
        }

        @Override
        public long sharedBytes() {
            return 0;
        }
    }

    /** Fails once, as a provider does that cannot share with other processes. */
    private static final class Alone extends HeapAllocator implements PagedReserves {
        private int shares;

        @Override
        public long share(long address) {
            shares++;
            if (shares == 1) {
                throw new UnsupportedMemoryException("the test has no other process");
            }
            return 0;
        }

        @Override
        public long sharedBytes() {
            return 0;
        }
    }

    @BeforeEach
    void requireLinux() {
        assumeTrue(Platform.current().system() == OperatingSystem.LINUX, "weights are shared on Linux only");
    }

    private static OnnxRuntimeAllocators install(String policy) {
        return OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                .provider("cpu-reference")
                .option("arena.policy", policy)
                .option(OnnxRuntimeAllocators.SHARE_WEIGHTS, "1")
                .install();
    }

    private static int[] run(AllocatorSession session) throws OrtException {
        return Models.run(session::run, 2, 16, 1);
    }

    private static InstalledMemory cpu(OnnxRuntimeAllocators memory) {
        return memory.memories().getFirst();
    }

    /** Returns the large live blocks of an installation with their bytes. */
    private static Map<Long, byte[]> weights(OnnxRuntimeAllocators memory) {
        final InspectableAllocator allocator =
                memory.allocator().as(InspectableAllocator.class).orElseThrow();
        final Map<Long, byte[]> weights = new HashMap<>();
        for (final Chunk block : allocator.inspect().blocks()) {
            if (block.requestedBytes() >= PagedReserves.LEAST_BYTES) {
                weights.put(block.address(), segment(block).toArray(ValueLayout.JAVA_BYTE));
            }
        }
        return weights;
    }

    private static MemorySegment segment(Chunk block) {
        return segment(block.address(), block.requestedBytes());
    }

    @SuppressWarnings("restricted") // blocks of the test's installation
    private static MemorySegment segment(long address, long byteSize) {
        return MemorySegment.ofAddress(address).reinterpret(byteSize);
    }

    @ParameterizedTest
    @ValueSource(strings = {"best-fit", "slabs", "compact"})
    void sessionsHaveOneCopyAndTheirOwnOutputs(String policy) throws OrtException {
        try (OnnxRuntimeAllocators memory = install(policy)) {
            final List<AllocatorSession> sessions = new ArrayList<>();
            sessions.add(Sessions.open(memory));
            final int[] expected = run(sessions.getFirst());
            memory.shrink();
            final long large = weights(memory).values().stream()
                    .mapToLong(bytes -> bytes.length)
                    .sum();
            final long small = sessions.getFirst().stats().bytesInUse() - large;
            final long held = memory.stats().bytesHeld();
            assertTrue(large > 20 * small, large + " of weights, " + small + " of others");
            assertEquals(0, cpu(memory).bytesShared());
            for (int i = 1; i < 6; i++) {
                sessions.add(Sessions.open(memory));
                assertArrayEquals(expected, run(sessions.getLast()));
                assertEquals(i * large, cpu(memory).bytesShared());
                assertEquals(large + small, sessions.getLast().stats().bytesInUse());
                memory.shrink();
                assertEquals(held + i * small, memory.stats().bytesHeld());
            }
            assertTrue(
                    cpu(memory).toString().endsWith("of which shared weights save " + 5 * large),
                    cpu(memory)::toString);
            assertEquals(Optional.empty(), cpu(memory).sharingObstacle());
            Collections.swap(sessions, 0, 3); // the first one is not the last to be closed
            Collections.swap(sessions, 5, 1);
            while (!sessions.isEmpty()) {
                sessions.removeFirst().close();
                assertEquals(
                        Math.max(0, sessions.size() - 1) * large, cpu(memory).bytesShared());
                for (final AllocatorSession session : sessions) {
                    assertArrayEquals(expected, run(session));
                }
            }
            assertEquals(0, memory.stats().bytesInUse());
        }
    }

    @Test
    void aWriteToAWeightStaysInItsSession() throws OrtException {
        try (OnnxRuntimeAllocators memory = install("best-fit");
                AllocatorSession first = Sessions.open(memory)) {
            final int[] expected = run(first);
            final Map<Long, byte[]> before = weights(memory);
            try (AllocatorSession second = Sessions.open(memory)) {
                assertArrayEquals(expected, run(second));
                for (final Map.Entry<Long, byte[]> block : weights(memory).entrySet()) {
                    if (!before.containsKey(block.getKey())) {
                        segment(block.getKey(), block.getValue().length).fill((byte) 0);
                    }
                }
                assertTrue(!Arrays.equals(expected, run(second)), "the weights are not used");
                assertArrayEquals(expected, run(first));
                try (AllocatorSession third = Sessions.open(memory)) {
                    assertArrayEquals(expected, run(third));
                }
                assertArrayEquals(expected, run(first));
            }
            weights(memory).forEach((address, bytes) -> assertArrayEquals(before.get(address), bytes));
        }
    }

    @Test
    void threadsOpenRunAndCloseAtOnce() throws Exception {
        try (OnnxRuntimeAllocators memory = install("best-fit");
                AllocatorSession first = Sessions.open(memory);
                ExecutorService threads = Executors.newFixedThreadPool(2)) {
            final int[] expected = run(first);
            final Callable<Void> work = () -> {
                for (int i = 0; i < 4; i++) {
                    try (AllocatorSession session = Sessions.open(memory)) {
                        assertArrayEquals(expected, run(session));
                        memory.shrink();
                        assertArrayEquals(expected, run(first));
                    }
                }
                return null;
            };
            for (final Future<Void> done : threads.invokeAll(List.of(work, work))) {
                done.get();
            }
            assertEquals(0, cpu(memory).bytesShared());
        }
    }

    @Test
    void nothingIsSharedUnlessAskedFor() throws OrtException {
        try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                        .provider("cpu-reference")
                        .install();
                AllocatorSession first = Sessions.open(memory);
                AllocatorSession second = Sessions.open(memory)) {
            assertArrayEquals(run(first), run(second));
            assertEquals(0, cpu(memory).bytesShared());
            assertEquals(
                    Optional.of("memory.share_weights is not set for this memory"),
                    cpu(memory).sharingObstacle());
        }
        final var builder = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment());
        assertThrows(
                InvalidOptionException.class, () -> builder.option(OnnxRuntimeAllocators.SHARE_WEIGHTS, "sometimes"));
    }

    @Test
    void anAllocatorThatCannotShareIsNamed() throws OrtException {
        try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                        .allocator(new HeapAllocator())
                        .option(OnnxRuntimeAllocators.SHARE_WEIGHTS, "1")
                        .install();
                AllocatorSession session = Sessions.open(memory)) {
            assertTrue(run(session).length > 0);
            assertEquals(
                    "its allocator cannot exchange the pages of reserves",
                    cpu(memory).sharingObstacle().orElseThrow());
        }
    }

    private static OnnxRuntimeAllocators installSharing(Allocator allocator) {
        return OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                .allocator(allocator)
                .option(OnnxRuntimeAllocators.SHARE_WEIGHTS, "1")
                .install();
    }

    @Test
    void afterAFailureSessionsOpenWithWeightsOfTheirOwn() throws OrtException {
        final Failing allocator = new Failing();
        try (OnnxRuntimeAllocators memory = installSharing(allocator);
                AllocatorSession first = Sessions.open(memory);
                AllocatorSession second = Sessions.open(memory)) {
            assertArrayEquals(run(first), run(second));
            assertEquals(1, allocator.shares);
            final String obstacle = cpu(memory).sharingObstacle().orElseThrow();
            assertTrue(obstacle.contains("the test has no mapping"), obstacle);
        }
    }

    @Test
    void withoutOtherProcessesWeightsOfThisOneAreShared() throws OrtException {
        final Alone allocator = new Alone();
        try (OnnxRuntimeAllocators memory = installSharing(allocator);
                AllocatorSession first = Sessions.open(memory)) {
            final int shares = allocator.shares;
            assertTrue(shares > 1, "the weights of the first session are not shared");
            final String obstacle = cpu(memory).sharingObstacle().orElseThrow();
            assertTrue(obstacle.contains("the test has no other process"), obstacle);
            try (AllocatorSession second = Sessions.open(memory)) {
                assertArrayEquals(run(first), run(second));
                assertEquals(2 * shares - 1, allocator.shares);
            }
            assertEquals(Optional.of(obstacle), cpu(memory).sharingObstacle());
        }
    }

    /** Has addresses of its own, so it does not pass on what exchanges the pages at those of the provider. */
    private static final class Closed implements Allocator {
        private final Allocator target;

        Closed(Allocator target) {
            this.target = target;
        }

        @Override
        public long alloc(long byteSize) {
            return target.alloc(byteSize);
        }

        @Override
        public void free(long address) {
            target.free(address);
        }

        @Override
        public MemoryInfo info() {
            return target.info();
        }

        @Override
        public int spiLevel() {
            return target.spiLevel();
        }

        @Override
        public long reserve(long byteSize) {
            return target.reserve(byteSize);
        }
    }

    /** Passes on all that it knows. */
    private static final class Open extends AllocatorWrapper {
        private final Allocator target;

        Open(Allocator target) {
            super(target);
            this.target = target;
        }

        @Override
        public long alloc(long byteSize) {
            return target.alloc(byteSize);
        }

        @Override
        public long allocOnStream(long byteSize, SyncStream stream) {
            return streamAware().allocOnStream(byteSize, stream);
        }

        @Override
        public long reserve(long byteSize) {
            return target.reserve(byteSize);
        }

        @Override
        public void free(long address) {
            target.free(address);
        }
    }

    @Test
    void aDecoratorDecidesWhetherItsSessionShares() throws OrtException {
        try (OnnxRuntimeAllocators memory = install("best-fit");
                AllocatorSession plain = Sessions.open(memory);
                AllocatorSession closed = Sessions.open(memory, SessionSettings.DEFAULT.withDecorator(Closed::new))) {
            final int[] expected = run(plain);
            assertArrayEquals(expected, run(closed));
            assertEquals(0, cpu(memory).bytesShared());
            try (AllocatorSession open = Sessions.open(memory, SessionSettings.DEFAULT.withDecorator(Open::new))) {
                assertArrayEquals(expected, run(open));
                assertTrue(cpu(memory).bytesShared() > 1 << 20);
            }
        }
    }
}
