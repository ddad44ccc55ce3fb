package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.AllocatorStats;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** The cases of ONNX Runtime's own arena test, under its names. */
class OnnxRuntimeCasesTest {
    private static final long KIB = 1024;
    private static final long MIB = 1024 * KIB;
    private static final long GIB = 1024 * MIB;

    private final FakeDevice device = new FakeDevice();

    private BfcArena arena(ExtendStrategy strategy, long limit, long cap) {
        return new BfcArena(
                device,
                new ArenaConfig(strategy, MIB, 128 * MIB, 2 * MIB, cap, limit, PlacementPolicy.BEST_FIT, 0, true));
    }

    private BfcArena arena(long limit) {
        return arena(ExtendStrategy.POWER_OF_TWO, limit, GIB);
    }

    @Test
    void noDups() {
        final BfcArena arena = arena(GIB);
        final List<Long> addresses = new ArrayList<>();
        for (int size = 1; size < 1024; size++) {
            addresses.add(arena.alloc(size));
        }

        Collections.sort(addresses);
        for (int i = 1; i < addresses.size(); i++) {
            final long below = addresses.get(i - 1);
            assertThat(addresses.get(i) - below).isPositive().isGreaterThanOrEqualTo(arena.requestedSize(below));
        }
        expectStats(arena, 654336);
        addresses.forEach(arena::free);
        expectStats(arena, 0);
    }

    private static void expectStats(BfcArena arena, long inUse) {
        final AllocatorStats stats = arena.stats();
        assertThat(stats.numAllocs()).isEqualTo(1023);
        assertThat(stats.bytesInUse()).isEqualTo(inUse);
        assertThat(stats.peakBytesInUse()).isEqualTo(654336);
        assertThat(stats.maxAllocSize()).isEqualTo(1024);
    }

    @Test
    void allocationsAndDeallocations() {
        final BfcArena arena = arena(GIB);
        final Random random = new Random(1);
        final List<Long> live = allocateRandom(arena, random, 255, 100, (int) MIB);
        freeOdd(arena, live);

        assertThatThrownBy(() -> arena.alloc(GIB + 1)).isInstanceOf(OutOfMemoryException.class);
        live.addAll(allocateRandom(arena, random, 255, 100, (int) MIB));

        expectNoOverlap(arena, live);
    }

    private static List<Long> allocateRandom(BfcArena arena, Random random, int count, int min, int max) {
        final List<Long> addresses = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            addresses.add(arena.alloc(min + random.nextInt(max - min + 1)));
        }
        return addresses;
    }

    private static void freeOdd(BfcArena arena, List<Long> live) {
        for (int i = live.size() - 1; i >= 0; i--) {
            if (i % 2 == 1) {
                arena.free(live.remove(i));
            }
        }
    }

    private static void expectNoOverlap(BfcArena arena, List<Long> live) {
        final TreeMap<Long, Long> ends = new TreeMap<>();
        live.forEach(address -> ends.put(address, address + arena.requestedSize(address)));
        assertThat(ends).hasSameSizeAs(live);
        long end = 0;
        for (final var block : ends.entrySet()) {
            assertThat(block.getKey()).isGreaterThanOrEqualTo(end);
            end = block.getValue();
        }
    }

    @Test
    void exerciseCoalescing() {
        final BfcArena arena = arena(GIB);
        final long first = arena.alloc(4096);
        arena.free(first);
        for (int i = 0; i < 1024; i++) {
            final long[] blocks = {arena.alloc(4096), arena.alloc(8 * MIB), arena.alloc(16384), arena.alloc(32 * MIB)};
            for (final long block : blocks) {
                arena.free(block);
            }
        }

        final AllocatorStats stats = arena.stats();
        assertThat(stats.bytesInUse()).isZero();
        assertThat(stats.numAllocs()).isEqualTo(4097);
        assertThat(stats.peakBytesInUse()).isEqualTo(4096 + 8388608 + 16384 + 33554432);
        assertThat(stats.maxAllocSize()).isEqualTo(33554432);
        assertThat(arena.alloc(4096)).isEqualTo(first);
    }

    @Test
    void allocateZeroBufSize() {
        final BfcArena arena = arena(GIB);

        assertThat(arena.alloc(0)).isZero();
        arena.free(0);

        assertThat(device.allocCalls()).isZero();
        assertThat(arena.stats().numAllocs()).isZero();
    }

    @Test
    void allocatedVsRequested() {
        final BfcArena arena = arena(GIB);
        final long block = arena.alloc(4);

        assertThat(arena.requestedSize(block)).isEqualTo(4);
        assertThat(arena.allocatedSize(block)).isEqualTo(256);
    }

    @Test
    void customMemoryLimit() {
        final BfcArena small = arena(MIB);
        small.alloc(256);

        assertThatThrownBy(() -> small.alloc(4 * MIB))
                .isInstanceOf(OutOfMemoryException.class)
                .hasMessageMatching("(?s)Available memory of \\d+ is smaller than requested bytes of \\d+.*");
    }

    @Test
    void customMemoryLimitBeyondTheDevice() {
        final long limit = Long.MAX_VALUE - 5 * MIB;
        final BfcArena large = arena(ExtendStrategy.SAME_AS_REQUESTED, limit, GIB);
        large.alloc(256);
        final long available = limit - large.stats().bytesHeld();

        assertThatThrownBy(() -> large.alloc(available - 3 * MIB))
                .isInstanceOf(OutOfMemoryException.class)
                .hasMessageStartingWith("Failed to allocate memory for requested buffer of size");
    }

    @Test
    void allocationsAndDeallocationsWithGrowth() {
        final BfcArena arena = arena(2 * GIB);
        final Random random = new Random(2);
        final List<Long> live = allocateRandom(arena, random, 9, 1, (int) (128 * MIB));
        freeOdd(arena, live);
        live.addAll(allocateRandom(arena, random, 9, 1, (int) (64 * MIB)));

        expectNoOverlap(arena, live);
    }

    @Test
    void reserve() {
        final BfcArena arena = arena(GIB);
        final long block = arena.alloc(256);
        final long reserved = arena.reserve(4 * MIB);

        arena.free(block);
        arena.free(reserved);

        assertThat(arena.stats().bytesHeld()).isEqualTo(1048576);
    }

    @Test
    void shrink() {
        final BfcArena arena = arena(ExtendStrategy.SAME_AS_REQUESTED, 0, GIB);
        final long small = arena.alloc(1024);
        arena.alloc(10 * MIB);
        assertThat(arena.stats().numArenaExtensions()).isEqualTo(2);

        arena.free(small);
        arena.shrink();

        assertThat(arena.stats().numArenaExtensions()).isEqualTo(1);
        assertThat(arena.stats().numArenaShrinkages()).isEqualTo(1);
        assertThat(arena.stats().bytesHeld()).isEqualTo(10485760);
    }

    @Test
    void backoffDoesntHang() {
        device.capacity(0);
        final BfcArena arena = arena(10 * MIB);

        assertThatThrownBy(() -> arena.alloc(1024)).isInstanceOf(OutOfMemoryException.class);
    }

    /** As in ONNX Runtime but for one line: {@code e} was freed after the event that {@code s2} waited for. */
    @Test
    void twoStreamAllocation() {
        final BfcArena arena = arena(GIB);
        final FakeStream s1 = new FakeStream();
        final FakeStream s2 = new FakeStream();

        final long s1a = arena.allocOnStream(4096, s1);
        final long s2a = arena.allocOnStream(4096, s2);
        arena.free(s1a);
        final long s2b = arena.allocOnStream(4096, s2);
        assertThat(s2b).isNotEqualTo(s1a);
        arena.free(s2a);
        final long s1c = arena.allocOnStream(4096, s1);
        assertThat(s1c).isEqualTo(s1a);
        final long s1d = arena.allocOnStream(4096, s1);
        assertThat(s1d).isNotEqualTo(s2a);
        arena.free(s2b);
        arena.releaseStream(s2);
        final long s1e = arena.allocOnStream(8192, s1);
        assertThat(s1e).isEqualTo(s2a);
        arena.free(s1c);
        arena.free(s1d);
        s1.notifyAndWait(s2);
        final long s2c = arena.allocOnStream(4096, s2);
        assertThat(s2c).isEqualTo(s1c);
        final long s2d = arena.allocOnStream(4096, s2);
        assertThat(s2d).isEqualTo(s1d);
        final long s1f = arena.allocOnStream(4096, s1);
        arena.free(s1f);
        final long s2e = arena.allocOnStream(4096, s2);
        assertThat(s2e).isNotEqualTo(s1f);
        arena.free(s1e);
        final long s2f = arena.allocOnStream(8192, s2);
        assertThat(s2f)
                .as("ONNX Runtime stamps e when it is taken and reuses it here")
                .isNotEqualTo(s1e);
        arena.releaseStream(s1);
        final long s2g = arena.allocOnStream(4096, s2);
        assertThat(s2g).isEqualTo(s1f);
        arena.checkConsistency();
    }

    @Test
    void extendStrategyDoubles() {
        final BfcArena arena = arena(GIB);

        final List<Long> growths = growths(arena);

        assertThat(growths.getFirst()).isEqualTo(MIB);
        for (int i = 1; i < growths.size(); i++) {
            assertThat(growths.get(i)).isEqualTo(2 * growths.get(i - 1));
        }
        assertThat(growths.getLast()).isGreaterThan(32 * MIB);
    }

    @Test
    void extendStrategyStopsDoublingAtTheCap() {
        final BfcArena arena = arena(ExtendStrategy.POWER_OF_TWO, GIB, 32 * MIB);

        final List<Long> growths = growths(arena);

        assertThat(growths.subList(0, 6)).containsExactly(MIB, 2 * MIB, 4 * MIB, 8 * MIB, 16 * MIB, 32 * MIB);
        assertThat(growths.subList(5, growths.size())).hasSizeGreaterThan(2).containsOnly(32 * MIB);
        arena.alloc(64 * MIB);
    }

    /** How the memory held grows while 256 blocks of 1 MiB are allocated. */
    private static List<Long> growths(BfcArena arena) {
        final List<Long> growths = new ArrayList<>();
        long held = 0;
        for (int i = 0; i < 256; i++) {
            arena.alloc(MIB);
            final long now = arena.stats().bytesHeld();
            if (now != held) {
                growths.add(now - held);
                held = now;
            }
        }
        return growths;
    }
}
