package allocator.cuda.arena;

import static allocator.cuda.arena.CudaArenaFixture.MIB;
import static allocator.cuda.arena.CudaArenaFixture.shrink;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.InvalidOptionException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** ONNX Runtime's tests of its CUDA plug-in's arena of device memory. */
abstract class DeviceArenaContract {
    private final CudaArenaFixture gpu;

    DeviceArenaContract(CudaArenaFixture gpu) {
        this.gpu = gpu;
    }

    @Test
    void isArena() {
        final Allocator arena = gpu.device();
        final long address = arena.alloc(1024);
        assertThat(arena.stats().toMap()).containsKeys("NumAllocs", "NumArenaExtensions");
        assertThat(arena.stats().numArenaExtensions()).isPositive();
        arena.free(address);
    }

    @Test
    void cudaMemoryIsValid() {
        final Allocator arena = gpu.device();
        final long address = arena.alloc(4096);
        gpu.fill(address, 0xAB, 4096);
        gpu.assertFilled(gpu.deviceMemory(), address, 0xAB, 4096);
        arena.free(address);
    }

    @Test
    void arenaReusesMemory() {
        final Allocator arena = gpu.device();
        arena.free(arena.alloc(512));
        final long extensions = arena.stats().numArenaExtensions();
        arena.free(arena.alloc(512));
        assertThat(arena.stats().numArenaExtensions()).isEqualTo(extensions);
    }

    @Test
    void multipleAllocations() {
        final Allocator arena = gpu.device();
        final List<Long> addresses = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            addresses.add(arena.alloc(2048));
            gpu.fill(addresses.get(i), i + 1, 2048);
        }
        for (int i = 0; i < 10; i++) {
            gpu.assertFilled(gpu.deviceMemory(), addresses.get(i), i + 1, 2048);
        }
        assertThat(arena.stats().numAllocs()).isGreaterThanOrEqualTo(10);
        addresses.forEach(arena::free);
    }

    @Test
    void zeroSizeAlloc() {
        final Allocator arena = gpu.device();
        assertThat(arena.alloc(0)).isZero();
        arena.free(0);
    }

    @Test
    void largeAllocation() {
        final Allocator arena = gpu.device();
        final long address = arena.alloc(32 * MIB);
        gpu.fill(address, 1, 32 * MIB);
        arena.free(address);
    }

    @Test
    void statsTrackBytesInUse() {
        final Allocator arena = gpu.device();
        final long before = arena.stats().bytesInUse();
        final long address = arena.alloc(4096);
        assertThat(arena.stats().bytesInUse()).isGreaterThan(before);
        arena.free(address);
        assertThat(arena.stats().bytesInUse()).isLessThanOrEqualTo(before);
    }

    @Test
    void replaceWithCustomConfig() {
        final Allocator arena = gpu.device("arena.initial_chunk_size_bytes", "25600");
        arena.free(arena.alloc(256));
        assertThat(arena.stats().bytesHeld()).isEqualTo(25600);
    }

    @Test
    void freeNullptrIsSafe() {
        gpu.device().free(0);
    }

    @Test
    void invalidConfigIsRejected() {
        assertThatExceptionOfType(InvalidOptionException.class)
                .isThrownBy(() -> gpu.device("arena.initial_chunk_size_bytes", "not_a_number"))
                .withMessageContainingAll("arena.initial_chunk_size_bytes", "not_a_number");
    }

    @Test
    void negativeConfigIsRejected() {
        assertThatExceptionOfType(InvalidOptionException.class)
                .isThrownBy(() -> gpu.device("arena.initial_chunk_size_bytes", "-100"));
    }

    @Test
    void maxMemZeroTreatedAsUnlimited() {
        final Allocator arena = gpu.device("arena.max_mem", "0");
        arena.free(arena.alloc(1024));
        assertThat(arena.stats().limit()).isEqualTo(AllocatorStats.UNLIMITED);
    }

    @Test
    void reserveRespectsBudget() {
        final Allocator arena = gpu.device("arena.max_mem", "65536", "arena.initial_chunk_size_bytes", "4096");
        assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> arena.reserve(131072));
    }

    @Test
    void sameAsRequestedStrategy() {
        final Allocator arena = gpu.device("arena.extend_strategy", "1", "arena.initial_chunk_size_bytes", "4096");
        final long address = arena.alloc(2048);
        assertThat(arena.stats().numArenaExtensions()).isPositive();
        arena.free(address);
    }

    /** A chunk is split where more would be left over than this, although the request takes most of it. */
    @Test
    void maxDeadBytesConfig() {
        final Allocator arena =
                gpu.device("arena.max_dead_bytes_per_chunk", "1024", "arena.initial_chunk_size_bytes", "8192");
        final long whole = arena.alloc(8192 - 768);
        assertThat(arena.stats().bytesInUse()).isEqualTo(8192);
        arena.free(whole);
        final long split = arena.alloc(8192 - 1280);
        assertThat(arena.stats().bytesInUse()).isEqualTo(8192 - 1280);
        arena.free(split);
        assertThat(arena.stats().bytesInUse()).isZero();
    }

    @Test
    void initialGrowthChunkSizeConfig() {
        final Allocator arena = gpu.device("arena.initial_growth_chunk_size_bytes", "8192");
        arena.free(arena.alloc(256));
        shrink(arena);
        arena.free(arena.alloc(256));
        assertThat(arena.stats().bytesHeld()).isEqualTo(8192);
    }

    /** Regions stop doubling at this size. */
    @Test
    void maxPowerOfTwoExtendConfig() {
        final Allocator arena = gpu.device("arena.max_power_of_two_extend_bytes", "2097152");
        final List<Long> blocks = new ArrayList<>();
        for (int mebibytes = 0; mebibytes < 7; mebibytes++) {
            blocks.add(arena.alloc(MIB));
        }
        assertThat(arena.stats().numArenaExtensions()).isEqualTo(4);
        assertThat(arena.stats().bytesHeld()).isEqualTo((1 + 2 + 2 + 2) * MIB);
        blocks.forEach(arena::free);
    }

    @Test
    void combinedConfig() {
        final Allocator arena = gpu.device(
                "arena.extend_strategy", "1",
                "arena.initial_chunk_size_bytes", "8192",
                "arena.max_dead_bytes_per_chunk", "512",
                "arena.max_mem", "2097152");
        arena.free(arena.alloc(4096));
        assertThat(arena.stats().numAllocs()).isPositive();
    }

    @Test
    void chunkSplitting() {
        final Allocator arena =
                gpu.device("arena.initial_chunk_size_bytes", "65536", "arena.max_dead_bytes_per_chunk", "256");
        final long first = arena.alloc(256);
        final long second = arena.alloc(256);
        assertThat(arena.stats().numArenaExtensions()).isEqualTo(1);
        arena.free(first);
        arena.free(second);
    }

    @Test
    void chunkCoalescing() {
        final Allocator arena = gpu.device("arena.initial_chunk_size_bytes", "16384");
        final long first = arena.alloc(4096);
        final long second = arena.alloc(4096);
        arena.free(first);
        arena.free(second);
        arena.free(arena.alloc(8192));
        assertThat(arena.stats().numArenaExtensions()).isEqualTo(1);
    }

    @Test
    void reserveWithinBudget() {
        final Allocator arena = gpu.device("arena.max_mem", "2097152");
        final long address = arena.reserve(4096);
        assertThat(arena.stats().bytesInUse()).isPositive();
        assertThat(arena.stats().numReserves()).isPositive();
        arena.free(address);
        assertThat(arena.stats().bytesInUse()).isZero();
    }

    @Test
    void maxMemExhaustion() {
        final Allocator arena = gpu.device("arena.max_mem", "65536", "arena.initial_chunk_size_bytes", "65536");
        final long address = arena.alloc(65536);
        assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> arena.alloc(256));
        arena.free(address);
    }

    @Test
    void invalidMaxMemIsRejected() {
        assertThatExceptionOfType(InvalidOptionException.class).isThrownBy(() -> gpu.device("arena.max_mem", "abc"));
    }

    @Test
    void allStatsKeysPresent() {
        assertThat(gpu.device().stats().toMap())
                .containsKeys(
                        "Limit",
                        "InUse",
                        "TotalAllocated",
                        "MaxInUse",
                        "NumAllocs",
                        "NumReserves",
                        "NumArenaExtensions",
                        "NumArenaShrinkages",
                        "MaxAllocSize");
    }

    @Test
    void shrinkFreesUnusedRegions() {
        final Allocator arena = gpu.device();
        arena.free(arena.alloc(4096));
        final long held = arena.stats().bytesHeld();
        assertThat(shrink(arena).bytesReleased()).isEqualTo(held);
        assertThat(arena.stats().bytesHeld()).isZero();
        assertThat(arena.stats().numArenaShrinkages()).isPositive();
    }

    @Test
    void shrinkKeepsTheFirstRegionIfTheOptionSaysSo() {
        final Allocator arena = gpu.device("arena.keep_first_region", "1");
        arena.free(arena.alloc(4096));
        final long held = arena.stats().bytesHeld();
        assertThat(shrink(arena).held())
                .containsExactly(
                        new ShrinkReport.Held(held, 1, "the first region, which arena.keep_first_region=0 returns"));
        assertThat(arena.stats().bytesHeld()).isEqualTo(held);
    }

    @Test
    void shrinkKeepsLiveRegions() {
        final Allocator arena = gpu.device();
        final long address = arena.alloc(4096);
        final long held = arena.stats().bytesHeld();
        assertThat(shrink(arena).regionsInUse()).isEqualTo(1);
        assertThat(arena.stats().bytesHeld()).isEqualTo(held);
        arena.free(address);
    }
}
