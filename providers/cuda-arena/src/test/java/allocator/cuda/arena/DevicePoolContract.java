package allocator.cuda.arena;

import static allocator.cuda.arena.CudaArenaFixture.MIB;
import static allocator.cuda.arena.CudaArenaFixture.shrink;
import static org.assertj.core.api.Assertions.assertThat;

import allocator.spi.Allocator;
import allocator.spi.StreamAwareAllocator;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** ONNX Runtime's tests of its CUDA plug-in's memory pool. */
abstract class DevicePoolContract {
    private final CudaArenaFixture gpu;

    DevicePoolContract(CudaArenaFixture gpu) {
        this.gpu = gpu;
    }

    @Test
    void basicAllocFree() {
        final Allocator pool = gpu.pool();
        final long address = pool.alloc(4096);
        gpu.fill(address, 0x11, 4096);
        gpu.assertFilled(gpu.deviceMemory(), address, 0x11, 4096);
        pool.free(address);
    }

    @Test
    void multipleAllocations() {
        final Allocator pool = gpu.pool();
        final List<Long> addresses = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            addresses.add(pool.alloc(2048));
        }
        assertThat(addresses).doesNotHaveDuplicates();
        addresses.forEach(pool::free);
    }

    @Test
    void statsAreReported() {
        final Allocator pool = gpu.pool();
        final long address = pool.alloc(1024);
        assertThat(pool.stats().numAllocs()).isPositive();
        assertThat(pool.stats().bytesInUse()).isPositive();
        pool.free(address);
        assertThat(pool.stats().bytesInUse()).isZero();
    }

    @Test
    void zeroSizeAlloc() {
        assertThat(gpu.pool().alloc(0)).isZero();
    }

    @Test
    void largeAllocation() {
        final Allocator pool = gpu.pool();
        pool.free(pool.alloc(32 * MIB));
    }

    @Test
    void customReleaseThreshold() {
        final Allocator pool = gpu.pool("arena.cuda_mempool_release_threshold", "1048576");
        pool.free(pool.alloc(4096));
        assertThat(pool.effectiveOptions().value("arena.cuda_mempool_release_threshold"))
                .isEqualTo("1048576");
    }

    @Test
    void freeNullptrIsSafe() {
        gpu.pool().free(0);
    }

    /** The driver keeps at least as much as is asked for, of several blocks or of one, if the pool has it. */
    @Test
    void bytesToKeepOnShrinkConfig() {
        final String threshold = Long.toString(512 * MIB);
        final Allocator keeps = gpu.pool(
                "arena.cuda_mempool_release_threshold",
                threshold,
                "arena.cuda_mempool_bytes_to_keep_on_shrink",
                Long.toString(64 * MIB));
        assertThat(heldAfterShrink(keeps)).isBetween(64 * MIB, 128 * MIB - 1);
        keeps.free(keeps.alloc(256 * MIB));
        assertThat(shrink(keeps).bytesHeld()).isBetween(64 * MIB, 256 * MIB + 64 * MIB);
        gpu.release(keeps); // a second user of the memory would share the pool, with its settings
        final Allocator keepsNothing = gpu.pool("arena.cuda_mempool_release_threshold", threshold);
        assertThat(heldAfterShrink(keepsNothing)).isZero();
    }

    private static long heldAfterShrink(Allocator pool) {
        final List<Long> blocks = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            blocks.add(pool.alloc(32 * MIB));
        }
        blocks.forEach(pool::free);
        return shrink(pool).bytesHeld();
    }

    @Test
    void allStatsKeysPresent() {
        assertThat(gpu.pool().stats().toMap())
                .containsKeys("NumAllocs", "TotalAllocated", "InUse", "MaxInUse", "MaxAllocSize");
    }

    @Test
    void shrinkTrimsPool() {
        final Allocator pool = gpu.pool();
        pool.free(pool.alloc(4096));
        final long before = pool.stats().numArenaShrinkages();
        shrink(pool);
        assertThat(pool.stats().numArenaShrinkages()).isEqualTo(before + 1);
    }

    @Test
    void onlyAPoolIsOrderedByTheDevice() {
        assertThat(((StreamAwareAllocator) gpu.device()).isOrderedByDevice()).isFalse();
        assertThat(((StreamAwareAllocator) gpu.pool()).isOrderedByDevice()).isTrue();
    }
}
