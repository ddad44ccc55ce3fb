package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.MemoryInfo;
import allocator.spi.SpiLevel;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sessions over allocators that throw, return unusable addresses, or implement a low level of the contract. */
class FaultyAllocatorTest {
    /** Throws from every method that native code calls. */
    private static final class Broken implements Allocator {
        @Override
        public long alloc(long byteSize) {
            if (byteSize % 2 == 0) {
                throw new StackOverflowError("broken on purpose");
            }
            throw new IllegalStateException("broken on purpose");
        }

        @Override
        public void free(long address) {
            throw new IllegalStateException("broken on purpose");
        }

        @Override
        public MemoryInfo info() {
            return NativeEnvironment.CPU;
        }

        @Override
        public int spiLevel() {
            throw new IllegalStateException("broken on purpose");
        }

        @Override
        public AllocatorStats stats() {
            throw new IllegalStateException("broken on purpose");
        }
    }

    @Nested
    class Exceptions {
        @Test
        void anAllocatorThatAlwaysThrowsDoesNotAffectOtherSessions() throws OrtException {
            try (OnnxRuntimeAllocators memory = Sessions.install(new Broken())) {
                final OrtException failure = assertThrows(OrtException.class, () -> Sessions.open(memory));
                assertTrue(String.valueOf(failure.getCause()).contains("broken on purpose"), failure::toString);
                assertThrows(IllegalStateException.class, memory::shrink);
                assertThrows(IllegalStateException.class, memory::stats);
                try (OrtSession other = Sessions.openPlain(false)) {
                    assertNotNull(Models.run(other::run, 1, 8, 1));
                }
            }
        }

        @Test
        void anAllocatorWhoseFreeThrowsDoesNotKeepTheInstallationOpen() throws OrtException {
            final HeapAllocator forgetful = new HeapAllocator() {
                @Override
                public void free(long address) {
                    super.free(address);
                    throw new IllegalStateException("broken on purpose");
                }
            };
            final OnnxRuntimeAllocators memory = Sessions.install(forgetful);
            try (AllocatorSession session = Sessions.open(memory)) {
                assertNotNull(Models.run(session::run, 1, 8, 1));
            }
            memory.close();
            assertEquals(0, memory.bytesInUse());
            assertEquals(0, forgetful.liveBlocks());
        }
    }

    @Nested
    class Addresses {
        @ParameterizedTest
        @ValueSource(longs = {0, 8, 32, -1})
        void anUnusableAddressIsAFailedAllocation(long offset) throws OrtException {
            final HeapAllocator wrong = new HeapAllocator() {
                @Override
                public long alloc(long byteSize) {
                    return offset == 0 ? 0 : super.alloc(byteSize + 64) + offset;
                }

                @Override
                public void free(long address) {
                    super.free(address - offset);
                }
            };
            try (OnnxRuntimeAllocators memory = Sessions.install(wrong)) {
                final OrtException failure = assertThrows(OrtException.class, () -> Sessions.open(memory));
                assertTrue(
                        String.valueOf(failure.getCause()).contains("a block begins at a multiple of 64"),
                        failure::toString);
                assertEquals(0, memory.bytesInUse());
            }
            assertEquals(0, wrong.liveBlocks());
        }
    }

    @Nested
    class Levels {
        @Test
        void anAllocatorOfALowLevelGetsNoCallsBeyondItsLevel() throws OrtException {
            final HeapAllocator old = new HeapAllocator() {
                @Override
                public int spiLevel() {
                    return SpiLevel.MINIMUM;
                }

                @Override
                public long reserve(long byteSize) {
                    throw new IllegalStateException("no reserve below its level");
                }

                @Override
                public AllocatorStats stats() {
                    throw new IllegalStateException("no statistics below their level");
                }
            };
            try (OnnxRuntimeAllocators memory = Sessions.install(old)) {
                try (AllocatorSession session = Sessions.open(memory)) {
                    assertNotNull(Models.run(session::run, 1, 8, 1));
                    session.setBudget(session.stats().bytesInUse());
                    assertThrows(OrtException.class, () -> Models.run(session.session()::run, 1, 8, 1));
                    assertTrue(session.takeFailure().orElseThrow().outOfMemory().isPresent());
                }
                assertEquals(AllocatorStats.NONE, memory.stats());
                assertEquals(0, memory.shrink().bytesReleased());
            }
            assertEquals(0, old.liveBlocks());
        }
    }
}
