package allocator.cuda.arena;

import static allocator.cuda.arena.CudaArenaFixture.MIB;
import static allocator.cuda.arena.CudaArenaFixture.shrink;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.OutOfMemoryException;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import org.junit.jupiter.api.Test;

/** How allocators of one provider live beside one another, with threads, and with more requested than there is. */
abstract class LifetimeContract {
    private final CudaArenaFixture gpu;

    LifetimeContract(CudaArenaFixture gpu) {
        this.gpu = gpu;
    }

    @Test
    void arenaPoolAndPinnedArenaAreCountedApart() {
        final Allocator arena = gpu.device();
        final Allocator pool = gpu.pool();
        final Allocator pinned = gpu.pinned();
        assertThat(gpu.device()).isSameAs(arena);
        gpu.release(pool);
        gpu.release(arena);
        gpu.release(pinned);
        arena.free(arena.alloc(256));
        assertThatExceptionOfType(AllocatorClosedException.class).isThrownBy(() -> pool.alloc(1));
        assertThatExceptionOfType(AllocatorClosedException.class).isThrownBy(() -> pinned.alloc(1));
        assertThatExceptionOfType(AllocatorClosedException.class)
                .isThrownBy(() -> ((HostAccessibleAllocator) pinned).segment(64, 1));
    }

    @Test
    void laterSettingsOfASharedArenaAreVisiblyNotEffective() {
        gpu.device("arena.initial_chunk_size_bytes", "4096");
        final Allocator second = gpu.device("arena.initial_chunk_size_bytes", "8192");
        assertThat(second.effectiveOptions().value("arena.initial_chunk_size_bytes"))
                .isEqualTo("4096");
        final Allocator own = gpu.device("arena.initial_chunk_size_bytes", "8192", "arena.exclusive", "1");
        assertThat(own.effectiveOptions().value("arena.initial_chunk_size_bytes"))
                .isEqualTo("8192");
    }

    @Test
    void aReleasedArenaReturnsWhatIsLive() {
        final StreamAwareAllocator arena = (StreamAwareAllocator) gpu.device();
        try (SyncStream stream = gpu.factory().createSyncStream(gpu.deviceMemory())) {
            final long address = arena.allocOnStream(MIB, stream);
            gpu.driver().memory().memsetD8Async(0, address, (byte) 1, MIB, stream.handle());
            arena.reserve(MIB);
            gpu.release(arena);
            assertThatExceptionOfType(AllocatorClosedException.class).isThrownBy(() -> arena.free(address));
            stream.onSessionRunEnd();
        }
    }

    @Test
    void requestsForMoreThanTheDeviceHasFailAndLeaveOthersAlone() {
        final Allocator arena = gpu.device();
        final long live = arena.alloc(4096);
        gpu.fill(live, 7, 4096);
        final long total = gpu.driver().memory().memGetInfo(0).totalByteSize();
        final long largestRegion = 1L << 44;
        for (long tooMuch : new long[] {total, 2 * total, largestRegion, 1L << 50}) {
            assertThatExceptionOfType(OutOfMemoryException.class)
                    .isThrownBy(() -> arena.alloc(tooMuch))
                    .satisfies(e -> {
                        assertThat(e.shortage().requested()).isEqualTo(tooMuch);
                        // The device is not asked for more than a region can hold.
                        if (tooMuch <= largestRegion) {
                            assertThat(e.shortage().deviceFree()).isPositive();
                        }
                    });
            assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> arena.reserve(tooMuch));
        }
        gpu.assertFilled(gpu.deviceMemory(), live, 7, 4096);
        arena.free(live);
        arena.free(arena.alloc(MIB));
    }

    @Test
    void aThreadThatNeverTouchedCudaFrees() throws InterruptedException {
        final Allocator arena = gpu.device();
        final long chunk = arena.alloc(4096);
        final long reserved = arena.reserve(4096);
        final Thread thread = Thread.ofPlatform().start(() -> {
            arena.free(chunk);
            arena.free(reserved);
            shrink(arena);
        });
        thread.join();
        assertThat(arena.stats().bytesHeld()).isZero();
    }
}
