package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.provider.support.UnreturnedMemory;
import allocator.spi.Allocator;
import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.SpiLevel;
import allocator.testkit.FakeDevice;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Two arenas over one upstream allocator, which hands freed memory out to the other arena. */
class SharedUpstreamTest {
    /** For each policy that takes all of its memory from its upstream allocator, and no pages from a source. */
    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "COMPACT")
    @Retention(RetentionPolicy.RUNTIME)
    @interface OnEachKind {}

    private static final long REGION = 1 << 16;

    /** An allocator that hands freed memory out again, the latest first. Every request has the same size. */
    private static final class Upstream implements Allocator {
        private final Deque<Long> free = new ArrayDeque<>();
        private final Map<Long, Long> live = new HashMap<>();
        private long next = 1 << 20;

        /** What the next free throws; a device exception has let the free take effect. */
        private @Nullable RuntimeException failure;

        @Override
        public long alloc(long byteSize) {
            final long address = free.isEmpty() ? next : free.pop();
            next = Math.max(next, address + REGION);
            live.put(address, byteSize);
            return address;
        }

        @Override
        public void free(long address) {
            assertThat(live).containsKey(address);
            final RuntimeException thrown = failure;
            failure = null;
            if (!(thrown instanceof IllegalStateException)) {
                live.remove(address);
                free.push(address);
            }
            if (thrown != null) {
                throw thrown;
            }
        }

        @Override
        public MemoryInfo info() {
            return FakeDevice.INFO;
        }

        @Override
        public int spiLevel() {
            return SpiLevel.MINIMUM;
        }
    }

    private final Upstream upstream = new Upstream();

    private static void expectHeld(ArenaSubject arena, long byteSize) {
        assertThat(arena.stats().bytesHeld()).isEqualTo(byteSize);
        arena.verify(Map.of());
    }

    @OnEachKind
    void memoryFreedWithADeviceExceptionCountsAsReturned(ArenaSubject.Kind kind) {
        final ArenaSubject first = kind.open(upstream);
        final ArenaSubject second = kind.open(upstream);
        final long region = first.alloc(REGION);
        first.free(region);
        upstream.failure = new DeviceException("simulated", null);
        first.shrink();
        expectHeld(first, 0);
        final long reserve = first.reserve(REGION);
        upstream.failure = new DeviceException("simulated", null);
        first.free(reserve);
        expectHeld(first, 0);

        assertThat(second.alloc(REGION)).isEqualTo(region);
        first.shrink();
        first.close();

        assertThat(upstream.live).containsOnlyKeys(region);
        second.close();
        assertThat(upstream.live).isEmpty();
    }

    @OnEachKind
    void memoryWhoseFreeThrowsAnythingElseIsHeldAndFreedAgainByTheClose(ArenaSubject.Kind kind) {
        final ArenaSubject arena = kind.open(upstream);
        final long reserve = arena.reserve(REGION);
        upstream.failure = new IllegalStateException("simulated");
        arena.free(reserve);
        expectHeld(arena, REGION);
        arena.shrink();
        expectHeld(arena, REGION);
        assertThat(arena.alloc(REGION)).isNotEqualTo(reserve);

        upstream.failure = new IllegalStateException("simulated");
        assertThatThrownBy(arena::close)
                .isInstanceOfAny(IllegalStateException.class, DeviceException.class)
                .hasStackTraceContaining("simulated");

        assertThat(upstream.live).hasSize(1);
        arena.close();
        assertThat(upstream.live).isEmpty();
    }

    /** Both count what the device did not take back, and either has it offered again. */
    @OnEachKind
    void twoArenasCountTheMemoryThatADeviceDidNotTakeBack(ArenaSubject.Kind kind) {
        final FakeDevice device = new FakeDevice();
        final ArenaSubject first = kind.open(device);
        final ArenaSubject second = kind.open(device);
        device.failFrees(call -> true);
        first.free(first.reserve(REGION));
        assertThat(device.as(UnreturnedMemory.class)).isPresent();
        expectHeld(first, REGION);
        expectHeld(second, REGION);
        second.shrink();
        expectHeld(first, REGION);
        device.failFrees(call -> false);
        second.shrink();
        expectHeld(first, 0);
        expectHeld(second, 0);
    }
}
