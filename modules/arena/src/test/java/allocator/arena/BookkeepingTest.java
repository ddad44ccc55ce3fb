package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import allocator.testkit.HeapUse;
import allocator.testkit.Share;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** The Java heap that an arena takes: little, and none for each call. */
class BookkeepingTest {
    private static final int KIB = 1024;

    /** Heap bytes for each pair that the sampled checks allocate under assertions; every object is larger. */
    private static final double CHECKS = 4;

    private static BfcArena arena(long regionBytes) {
        return new BfcArena(
                new FakeDevice(),
                new ArenaConfig(
                        ExtendStrategy.POWER_OF_TWO,
                        regionBytes,
                        1 << 20,
                        4096,
                        regionBytes,
                        0,
                        PlacementPolicy.BEST_FIT,
                        0,
                        true));
    }

    /** LiveSizes of 4 KiB and more cost under 1 % of 16 MiB and more: all live, and with every other one freed. */
    @ParameterizedTest
    @CsvSource({
        "4096, 4000",
        "4096, 10000",
        "4096, 100000",
        "4097, 10000",
        "5000, 20000",
        "8192, 1000",
        "65536, 5000",
        "1048576, 1000"
    })
    void tablesTakeLessThanOnePercent(long byteSize, int count) {
        final BfcArena arena = arena(16L << 20);
        final long[] blocks = new long[count];
        for (int i = 0; i < count; i++) {
            blocks[i] = arena.alloc(byteSize);
        }
        final long managed = arena.allocatedSize(blocks[0]) * count;
        assertThat(TableHeap.of(arena)).isLessThan(managed / 100);

        for (int i = 0; i < count; i += 2) {
            arena.free(blocks[i]);
        }
        assertThat(TableHeap.of(arena)).isLessThan(managed / 100);
    }

    /** A tensor stream: bound memory and untouched ends included. */
    @ParameterizedTest
    @CsvSource({"4096, 10000", "4096, 100000", "65536, 5000"})
    void tablesWithStreamsTakeLessThanOnePercentOfWhatIsLive(long byteSize, int count) {
        final BfcArena arena = arena(16L << 20);
        final FakeStream stream = new FakeStream();
        long managed = 0;
        for (int i = 0; i < count; i++) {
            managed += arena.allocatedSize(arena.allocOnStream(byteSize, stream));
        }

        assertThat(TableHeap.of(arena)).isLessThan(managed / 100);
    }

    /** A thousand bytes for each stream, its blocks included. */
    @Test
    void aStreamWithLittleMemoryCostsLittle() {
        final int streams = 20_000;
        final BfcArena arena = arena(1L << 30);
        for (int i = 0; i < streams; i++) {
            final FakeStream stream = new FakeStream();
            final long freed = arena.allocOnStream(256, stream);
            arena.allocOnStream(256, stream);
            arena.free(freed);
        }

        assertThat(TableHeap.of(arena) / streams).isLessThan(1000);
    }

    /** The tables for a quarter of a million blocks and for 5,000 streams are given back. */
    @ParameterizedTest
    @EnumSource(PlacementPolicy.class)
    void aShrinkGivesBackTheTables(PlacementPolicy policy) {
        final BfcArena arena = AllocatedPages.arena(
                new FakeDevice(),
                new ArenaConfig(ExtendStrategy.POWER_OF_TWO, 1 << 30, 1 << 20, 4096, 1 << 30, 0, policy, 0, true));
        arena.free(arena.alloc(1));
        final long before = TableHeap.of(arena);
        final int streams = 5_000;
        final long[] blocks = new long[50 * streams];
        final List<FakeStream> released = new ArrayList<>();
        for (int i = 0; i < streams; i++) {
            final FakeStream stream = new FakeStream();
            released.add(stream);
            for (int block = 0; block < 50; block++) {
                blocks[50 * i + block] = arena.allocOnStream(256, stream);
            }
        }
        final long kept = arena.alloc(4096);
        for (final long block : blocks) {
            arena.free(block);
        }
        assertThat(TableHeap.of(arena)).isGreaterThan(5_000_000);
        released.forEach(arena::releaseStream);
        arena.shrink();

        // On pages the indexes of the range of addresses reach up to what is kept, which lies behind all others.
        final long most = policy == PlacementPolicy.COMPACT ? 600_000 : 500_000;
        assertThat(TableHeap.of(arena)).isLessThan(before + most);
        assertThat(arena.allocatedSize(kept)).isEqualTo(4096);
        arena.checkConsistency();
    }

    @Test
    void shortThreadsLeaveNothing() throws InterruptedException {
        final BfcArena arena = arena(16L << 20);
        arena.free(arena.alloc(4096));
        final long before = TableHeap.of(arena);
        final Set<Thread> running = new HashSet<>();
        for (int i = 0; i < Share.of(100_000); i++) {
            running.add(Thread.startVirtualThread(() -> arena.free(arena.alloc(4096))));
            if (running.size() == 100) {
                for (final Thread thread : running) {
                    thread.join();
                }
                running.clear();
            }
        }
        arena.shrink();

        assertThat(TableHeap.of(arena)).isLessThan(before + arena.laneCount() * 100_000L);
        assertThat(arena.stats().bytesInUse()).isZero();
    }

    @Test
    void streamsThatEndLeaveNothing() {
        final BfcArena arena = arena(16L << 20);
        final FakeStream first = new FakeStream();
        arena.free(arena.allocOnStream(4096, first));
        final long before = TableHeap.of(arena);
        for (int i = 0; i < Share.of(100_000); i++) {
            final FakeStream stream = new FakeStream();
            arena.free(arena.allocOnStream(4096, stream));
            arena.releaseStream(stream);
        }

        assertThat(TableHeap.of(arena)).isLessThan(before + 50_000);
    }

    /** Others find what they have freed. The first 64 streams leave slabs. */
    @ParameterizedTest
    @EnumSource(PlacementPolicy.class)
    void norDoStreamsThatEndWithoutARelease(PlacementPolicy policy) {
        final BfcArena arena = AllocatedPages.arena(new FakeDevice(), ArenaConfig.DEFAULT.withPlacementPolicy(policy));
        arena.free(arena.alloc(4096));
        final long before = TableHeap.of(arena);
        for (int i = 0; i < 20_000; i++) {
            try (FakeStream stream = new FakeStream()) {
                arena.free(arena.allocOnStream(4096, stream));
            }
        }

        assertThat(TableHeap.of(arena)).isLessThan(before + 500_000);
    }

    /** A large region costs nothing before it is used. */
    @Test
    void anUnusedRegionIsCheap() {
        final BfcArena arena = arena(64L << 30);
        arena.alloc(1);

        assertThat(TableHeap.of(arena)).isLessThan(256 * KIB);
    }

    @Test
    void aSteadyStateAllocatesNothingOnTheHeap() {
        assertThat(heapBytesForEachPair(null)).isLessThan(CHECKS);
    }

    @Test
    void aSteadyStateOnAStreamAllocatesNothingOnTheHeap() {
        assertThat(heapBytesForEachPair(new FakeStream())).isLessThan(CHECKS);
    }

    private static double heapBytesForEachPair(@Nullable FakeStream stream) {
        final Workload workload = Workload.large(0, 20_000);
        final BfcArena arena = new BfcArena(new FakeDevice(), ArenaConfig.DEFAULT);
        final long[] addresses = workload.fill(arena);
        double least = Double.MAX_VALUE;
        for (int round = 0; round < 20; round++) {
            final long before = HeapUse.ofThisThread();
            workload.run(arena, stream, addresses);
            least = Math.min(least, (double) (HeapUse.ofThisThread() - before) / workload.pairs());
        }
        return least;
    }
}
