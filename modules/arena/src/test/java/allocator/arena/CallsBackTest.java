package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.arena.bump.BumpAllocator;
import allocator.arena.bump.BumpArena;
import allocator.arena.bump.BumpConfig;
import allocator.arena.bump.SharedBumpArena;
import allocator.spi.AllocatorOptions;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** An upstream allocator or a stream that calls the arena by which it is called. */
@Timeout(60)
class CallsBackTest {
    private static final long LIMIT = 1 << 20;

    /** A device that runs something in its next call. */
    private static final class Device extends FakeDevice {
        private Runnable inNextCall = () -> {};

        private void callBack() {
            final Runnable action = inNextCall;
            inNextCall = () -> {};
            action.run();
        }

        @Override
        public synchronized long alloc(long byteSize) {
            callBack();
            return super.alloc(byteSize);
        }

        @Override
        public synchronized void free(long address) {
            callBack();
            super.free(address);
        }
    }

    private final Device device = new Device();

    private static void assertRejected(ThrowingCallable call) {
        assertThatThrownBy(call).isInstanceOf(IllegalStateException.class).hasMessageContaining("upstream allocator");
    }

    @Nested
    class OfAnArena {
        private final BfcArena arena = new BfcArena(
                device,
                ArenaConfig.from(AllocatorOptions.of(
                        Map.of("arena.max_mem", Long.toString(LIMIT), "arena.initial_chunk_size_bytes", "65536"))));

        @Test
        void itTakesNoMemoryThatTheArenaHasPlannedWith() {
            final long block = arena.alloc(1000);
            device.inNextCall = () -> {
                assertRejected(() -> arena.alloc(600_000));
                assertRejected(() -> arena.reserve(600_000));
                assertRejected(arena::close);
            };
            final long large = arena.alloc(600_000);

            assertThat(arena.stats().bytesHeld()).isLessThanOrEqualTo(LIMIT);
            arena.checkConsistency();
            arena.free(large);
            arena.free(block);
            arena.close();
            assertThat(device.liveBytes()).isZero();
        }

        @Test
        void itUsesAndFreesWhatTheArenaHolds() {
            final long block = arena.alloc(1000);
            final long reserve = arena.reserve(5000);
            device.inNextCall = () -> {
                arena.free(block);
                arena.free(arena.alloc(2000));
                arena.free(reserve);
                assertThat(arena.shrink().bytesReleased()).isZero();
            };
            arena.free(arena.alloc(600_000));

            assertThat(arena.stats().bytesInUse()).isZero();
            arena.checkConsistency();
            arena.close();
            assertThat(device.liveBytes()).isZero();
        }

        @Test
        void aStreamsTextAndHashAreNotAskedForUnderTheLock() {
            final FakeStream stream = new FakeStream() {
                @Override
                public String toString() {
                    return "with " + arena.stats().bytesInUse() + " bytes in use";
                }

                @Override
                public int hashCode() {
                    return (int) arena.stats().bytesInUse();
                }

                @Override
                public boolean equals(Object other) {
                    return arena.stats().bytesInUse() == 0 || this == other;
                }
            };
            arena.free(arena.allocOnStream(1000, stream));
            assertThatThrownBy(() -> arena.allocOnStream(2 * LIMIT, stream)).isInstanceOf(OutOfMemoryException.class);
            arena.shrink();
            arena.close();
        }
    }

    @Nested
    class OfABumpAllocator {
        private final BumpAllocator allocator =
                new BumpAllocator(device, new BumpConfig(1 << 14, 0, 1 << 14), LIMIT, AllocatorOptions.EMPTY);

        @Test
        void itTakesNoMemoryThatTheAllocatorHasPlannedWith() {
            final long small = allocator.alloc(1000);
            final long reserve = allocator.reserve(5000);
            device.inNextCall = () -> {
                assertRejected(() -> allocator.alloc(600_000));
                assertRejected(() -> allocator.reserve(600_000));
                assertRejected(allocator::close);
                assertThat(allocator.shrink().bytesReleased()).isZero();
                allocator.free(reserve);
            };
            final long large = allocator.alloc(600_000);

            assertThat(allocator.stats().bytesHeld()).isLessThanOrEqualTo(LIMIT);
            allocator.free(large);
            allocator.free(small);
            assertThat(allocator.stats().bytesInUse()).isZero();
            allocator.close();
            assertThat(device.liveBytes()).isZero();
        }

        @Test
        void itFreesOtherMemoryWhileARegionGoesBack() {
            final long[] large = {allocator.alloc(280_000), allocator.alloc(280_000), allocator.alloc(280_000)};
            device.inNextCall = () -> {
                allocator.free(large[1]);
                allocator.free(large[2]);
            };
            allocator.free(large[0]);

            assertThat(allocator.stats().bytesInUse()).isZero();
            allocator.shrink();
            allocator.close();
            assertThat(device.liveBytes()).isZero();
        }
    }

    @Nested
    class OfAFixedBumpArena {
        @Test
        void itDoesNotReset() {
            final BumpArena arena = new BumpArena(device, BumpConfig.growing(1 << 16));
            device.inNextCall = () -> {
                assertRejected(arena::reset);
                assertRejected(arena::close);
                assertRejected(() -> arena.allocate(100, 16));
            };
            arena.allocate(100, 16);
            arena.close();
            assertThat(device.liveBytes()).isZero();
        }

        @Test
        void norWhereThreadsShareIt() {
            final SharedBumpArena arena = new SharedBumpArena(device, BumpConfig.growing(1 << 16));
            device.inNextCall = () -> {
                assertRejected(arena::reset);
                assertRejected(arena::close);
                assertRejected(() -> arena.allocate(100, 16));
            };
            arena.allocate(100, 16);
            arena.close();
            assertThat(device.liveBytes()).isZero();
        }
    }
}
