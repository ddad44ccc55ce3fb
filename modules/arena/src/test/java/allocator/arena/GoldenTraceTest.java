package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeDevice;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Programs whose every placement and counter was recorded from ONNX Runtime 1.30. A line is an operation, where the
 * memory lies, and after the bar the counters: InUse, RequestedInUse, TotalAllocated, MaxInUse, NumAllocs,
 * NumArenaExtensions, NumArenaShrinkages, MaxAllocSize; {@code .} stands for what was not recorded.
 */
class GoldenTraceTest {

    @Test
    void t1GrowsByDoublingAndShrinks() {
        replay(Map.of(), """
                A 1000    r0+0       | 1024 1000 1048576 1024 1 1 0 1024
                B 300000  r0+1024    | 301056 301000 1048576 301056 2 1 0 300032
                C 600000  r0+301056  | 1048576 901000 1048576 1048576 3 1 0 747520
                free B               | 748544 601000 1048576 1048576 3 1 0 747520
                D 100000  r0+1024    | 848640 701000 1048576 1048576 4 1 0 747520
                E 200000  r1+0       | 1048832 901000 3145728 1048832 5 2 0 747520
                free A,D,E           | 747520 600000 3145728 1048832 5 2 0 747520
                F 300000  r0+0       | 1048576 900000 3145728 1048832 6 2 0 747520
                G 262144  r1+0       | 1310720 1162144 3145728 1310720 7 2 0 747520
                H 3145728 r2+0       | 5505024 4307872 7340032 5505024 8 3 0 4194304
                I 524288  r1+262144  | 6029312 4832160 7340032 6029312 9 3 0 4194304
                free C,F,G
                shrink               | 4718592 3670016 7340032 6029312 9 3 0 4194304
                free H,I
                shrink               | 0 0 1048576 6029312 9 1 2 4194304
                J 100     r0+0       | 256 100 1048576 6029312 10 1 2 4194304
                free J
                shrink               | 0 0 1048576 6029312 10 1 2 4194304
                K 5242880 r3+0       | 8388608 5242880 9437184 8388608 11 2 2 8388608
                free K
                shrink               | 0 0 1048576 8388608 11 1 3 8388608
                """);
    }

    @Test
    void t2GrowsByTheRequest() {
        replay(Map.of("arena.extend_strategy", "1"), """
                A 1000     r0+0        | 1024 1000 1024 1024 1 1 0 1024
                B 10485760 r1+0        | 10486784 10486760 10486784 10486784 2 2 0 10485760
                free A
                shrink                 | 10485760 10485760 10485760 10486784 2 1 1 10485760
                C 1000     r2+0        | 10486784 10486760 10486784 10486784 3 2 1 10485760
                free B,C
                D 5000000  r1+0        | 5000192 5000000 10486784 . 4 2 1 .
                E 5000000  r1+5000192  | 10485760 10000000 10486784 . 5 2 1 .
                free D,E
                shrink                 | 0 0 0 10486784 5 0 3 10485760
                """);
    }

    /** Where ONNX Runtime lets a reserve pass the limit, and is without one from then on, this arena rejects it. */
    @Test
    void t3ObeysTheLimit() {
        replay(Map.of("arena.max_mem", "65536", "arena.initial_chunk_size_bytes", "4096"), """
                A 4096  r0+0     | . . 4096 . . . . .
                B 4096  r1+0     | . . 12288 . . . . .
                C 4096  r1+4096
                D 4096  r2+0     | . . 28672 . . . . .
                E 40000 fails Available memory of 36864 is smaller than requested bytes of 40192
                F 32768 r3+0     | . . 61440 . . . . .
                G 256   r2+4096
                H 12288 fails Available memory of 4096 is smaller than requested bytes of 12288
                free A,B,C,D
                I 12288 fails Available memory of 4096 is smaller than requested bytes of 12288
                largest 12032
                shrink           | 33024 33024 53248 49408 . 3 1 .
                J 16384 fails Available memory of 12288 is smaller than requested bytes of 16384
                R reserve 16384 fails Available memory of 12288 is smaller than requested bytes of 16384
                K 256   r0+0     | 33280 33280 53248 49408 . 3 1 .
                """);
    }

    @Test
    void t4SplitsAtMaxDeadBytes() {
        replay(Map.of("arena.max_dead_bytes_per_chunk", "256", "arena.initial_chunk_size_bytes", "65536"), """
                A 256   r0+0
                B 40000 r0+256    | 40448 . . . . . . .
                C 20000 r0+40448  | 60672 . . . . . . .
                free B
                D 39000 r0+256    | 59648 . . . . . . .
                free D
                E 39900 r0+256    | 60416 . . . . . . .
                free E,C,A
                F 65536 r0+0
                free F
                G 65537 r1+0      | . . 196608 . . . . .
                """);
    }

    @Test
    void t5KeepsTheCapOutOfASingleRequest() {
        replay(Map.of("arena.max_power_of_two_extend_bytes", "4194304"), """
                A 9437184 r0+0    | . . 16777216 . . 1 0 16777216
                B 4194304 r1+0    | . . 33554432 . . 2 0 .
                C 4194304 r1+4194304
                D 8388608 r1+8388608
                E 4194304 r2+0    | . . 37748736 . . 3 0 .
                """);
    }

    @Test
    void t6FitsTheLastRegionUnderTheLimit() {
        replay(Map.of("arena.initial_chunk_size_bytes", "1000", "arena.max_mem", "5000"), """
                A 1    r0+0     | . . 1024 . . . . .
                B 1000 r1+0     | . . 3072 . . . . .
                C 1500 r2+0     | . . 4864 . . . . .
                D 256  r0+256
                E 1024 r1+1024
                F 256  r0+512   | 4608 4037 4864 . . . . .
                """);
    }

    @Test
    void t7ReservesOutsideRegions() {
        replay(Map.of(), """
                A reserve 1000 r0+0  | 1000 1000 1000 1000 1 0 0 1000
                Z reserve 0 empty    | 1000 1000 1000 1000 1 0 0 1000
                B 256 r1+0           | 1256 1256 1049576 1256 2 1 0 1000
                free A,B
                shrink               | 0 0 1048576 1256 2 1 0 1000
                """);
    }

    /** U1: a cap that is no multiple of 256 makes ONNX Runtime leak every later region. */
    @Test
    void u1UnalignedCapIsRoundedUp() {
        replay(Map.of("arena.max_power_of_two_extend_bytes", "1000000"), """
                A 1048576 r0+0  | . . 1048576 . . 1 0 .
                B 1000    r1+0  | . . 2048768 . . 2 0 .
                C 1000    r1+1024
                free A,B,C
                shrink          | 0 0 1048576 . 3 1 1 .
                """);
    }

    /** U2: a growth size that is no multiple of 256 makes ONNX Runtime leak every region after a shrink. */
    @Test
    void u2UnalignedGrowthIsRoundedUp() {
        replay(Map.of("arena.initial_growth_chunk_size_bytes", "1000001"), """
                A 1048576 r0+0
                B 1000    r1+0  | . . 3145728 . . 2 0 .
                free B
                shrink          | . . 1048576 . . 1 1 .
                C 1000    r2+0  | . . 2048768 . . 2 1 .
                """);
    }

    /** ONNX Runtime hangs or crashes on each of these. */
    @ParameterizedTest
    @CsvSource({
        "arena.initial_chunk_size_bytes",
        "arena.max_dead_bytes_per_chunk",
        "arena.initial_growth_chunk_size_bytes",
        "arena.max_power_of_two_extend_bytes"
    })
    void zeroSizesAreRejectedByName(String key) {
        final AllocatorOptions options = AllocatorOptions.of(Map.of(key, "0"), "session");

        assertThatThrownBy(() -> ArenaConfig.from(options))
                .hasMessageContaining(key)
                .hasMessageContaining("'0'")
                .hasMessageContaining("session")
                .hasMessageContaining("from 1 to");
    }

    @Test
    void r1PlacesRandomBlocksAsRecorded() {
        final RandomTrace trace = new RandomTrace(42, 20_000);

        trace.runTo(10);
        trace.expect(0, 0xb22549e6660757a9L, 0, 0, 28928, 5, 19200);
        trace.runTo(100);
        trace.expect(18, 0x91b60e68a799ab61L, 177920, 162445, 177920, 59, 19712);
        trace.runTo(1000);
        trace.expect(180, 0x007c2852d14b2e8bL, 2040064, 1776141, 2046976, 590, 37376);
        trace.runTo(2000);
        trace.expect(410, 0x3470cb0d18e8a969L, 4630016, 4045596, 4676864, 1205, 37376);
        trace.freeAll();
        assertThat(trace.arena.stats().bytesInUse()).isZero();
        assertThat(trace.device.describe(trace.arena.alloc(256))).isEqualTo("r0+0");
    }

    /** A random program on one region of 64 MiB, with a hash over all placements. */
    private static final class RandomTrace {
        private static final long MULTIPLIER = 6364136223846793005L;
        private static final long INCREMENT = 1442695040888963407L;
        private static final long FNV_PRIME = 1099511628211L;

        final FakeDevice device = new FakeDevice();
        final BfcArena arena = new BfcArena(device, config(Map.of("arena.initial_chunk_size_bytes", "67108864")));
        private final List<Long> live = new ArrayList<>();
        private final int maxSize;
        private long state;
        private long hash = 1469598103934665603L;
        private int operations;

        RandomTrace(long seed, int maxSize) {
            state = seed;
            this.maxSize = maxSize;
        }

        private long next() {
            state = state * MULTIPLIER + INCREMENT;
            return state >>> 33;
        }

        void runTo(int end) {
            for (; operations < end; operations++) {
                final long r = next() % 100;
                if (live.isEmpty() || r < 60) {
                    final long address = arena.alloc(1 + next() % maxSize);
                    live.add(address);
                    hash = (hash ^ (address - device.base(0))) * FNV_PRIME;
                } else {
                    final int index = (int) (next() % live.size());
                    arena.free(live.get(index));
                    final long last = live.removeLast();
                    if (index < live.size()) {
                        live.set(index, last);
                    }
                }
            }
            arena.checkConsistency();
        }

        void expect(int blocks, long hash, long inUse, long requested, long maxInUse, long allocs, long maxAlloc) {
            final AllocatorStats stats = arena.stats();
            assertThat(live).hasSize(blocks);
            assertThat(Long.toHexString(this.hash)).isEqualTo(Long.toHexString(hash));
            assertThat(stats.bytesInUse()).isEqualTo(inUse);
            assertThat(stats.requestedBytesInUse()).isEqualTo(requested);
            assertThat(stats.bytesHeld()).isEqualTo(67108864);
            assertThat(stats.peakBytesInUse()).isEqualTo(maxInUse);
            assertThat(stats.numAllocs()).isEqualTo(allocs);
            assertThat(stats.maxAllocSize()).isEqualTo(maxAlloc);
        }

        void freeAll() {
            live.forEach(arena::free);
            live.clear();
        }
    }

    private static ArenaConfig config(Map<String, String> options) {
        return ArenaConfig.from(AllocatorOptions.of(options));
    }

    private static void replay(Map<String, String> options, String script) {
        final FakeDevice device = new FakeDevice();
        final BfcArena arena = new BfcArena(device, config(options));
        final Map<String, Long> blocks = new HashMap<>();
        for (final String line : script.lines().toList()) {
            final String[] parts = line.split("\\|", 2);
            perform(parts[0].trim().split("\\s+", 3), arena, device, blocks, line);
            if (parts.length > 1) {
                expectCounters(arena.stats(), parts[1].trim().split("\\s+", -1), line);
            }
            arena.checkConsistency();
            assertThat(device.liveBytes()).as(line).isEqualTo(arena.stats().bytesHeld());
        }
        arena.close();
        assertThat(device.liveBytes()).isZero();
    }

    private static void perform(
            String[] words, BfcArena arena, FakeDevice device, Map<String, Long> blocks, String line) {
        switch (words[0]) {
            case "free" -> {
                for (final String name : words[1].split(",", -1)) {
                    arena.free(blocks.remove(name));
                }
            }
            case "shrink" -> arena.shrink();
            case "largest" -> assertThat(arena.stats().largestFreeChunk()).isEqualTo(Long.parseLong(words[1]));
            default -> {
                final boolean isReserve = words[1].equals("reserve");
                final String[] rest = isReserve ? words[2].split("\\s+", 2) : new String[] {words[1], words[2]};
                allocate(words[0], Long.parseLong(rest[0]), isReserve, rest[1], arena, device, blocks, line);
            }
        }
    }

    private static void allocate(
            String name,
            long byteSize,
            boolean isReserve,
            String expected,
            BfcArena arena,
            FakeDevice device,
            Map<String, Long> blocks,
            String line) {
        if (expected.startsWith("fails ")) {
            assertThatThrownBy(() -> allocate(arena, byteSize, isReserve))
                    .as(line)
                    .isInstanceOf(OutOfMemoryException.class)
                    .hasMessageStartingWith(expected.substring("fails ".length()));
            return;
        }
        final long address = allocate(arena, byteSize, isReserve);
        blocks.put(name, address);
        assertThat(address == 0 ? "empty" : device.describe(address)).as(line).isEqualTo(expected);
    }

    private static long allocate(BfcArena arena, long byteSize, boolean isReserve) {
        return isReserve ? arena.reserve(byteSize) : arena.alloc(byteSize);
    }

    private static void expectCounters(AllocatorStats stats, String[] expected, String line) {
        final long[] actual = {
            stats.bytesInUse(),
            stats.requestedBytesInUse(),
            stats.bytesHeld(),
            stats.peakBytesInUse(),
            stats.numAllocs(),
            stats.numArenaExtensions(),
            stats.numArenaShrinkages(),
            stats.maxAllocSize()
        };
        for (int i = 0; i < actual.length; i++) {
            if (!expected[i].equals(".")) {
                assertThat(actual[i]).as("counter %d of: %s", i, line).isEqualTo(Long.parseLong(expected[i]));
            }
        }
    }
}
