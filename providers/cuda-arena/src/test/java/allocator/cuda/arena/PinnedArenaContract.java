package allocator.cuda.arena;

import static allocator.cuda.arena.CudaArenaFixture.shrink;
import static org.assertj.core.api.Assertions.assertThat;

import allocator.spi.Allocator;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.StreamAwareAllocator;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

/** ONNX Runtime's tests of its CUDA plug-in's arena of pinned memory. */
abstract class PinnedArenaContract {
    private final CudaArenaFixture gpu;

    PinnedArenaContract(CudaArenaFixture gpu) {
        this.gpu = gpu;
    }

    @Test
    void isArena() {
        final HostAccessibleAllocator arena = (HostAccessibleAllocator) gpu.pinned();
        final long address = arena.alloc(1024);
        arena.segment(address, 1024).fill((byte) 0xCD);
        assertThat(arena.segment(address, 1024).get(ValueLayout.JAVA_BYTE, 1023))
                .isEqualTo((byte) 0xCD);
        assertThat(arena.stats().numArenaExtensions()).isPositive();
        assertThat(arena).isNotInstanceOf(StreamAwareAllocator.class);
        arena.free(address);
    }

    @Test
    void customConfig() {
        final Allocator arena = gpu.pinned("arena.initial_chunk_size_bytes", "16384");
        arena.free(arena.alloc(256));
        assertThat(arena.stats().bytesHeld()).isEqualTo(16384);
    }

    @Test
    void reuse() {
        final Allocator arena = gpu.pinned();
        arena.free(arena.alloc(512));
        final long extensions = arena.stats().numArenaExtensions();
        arena.free(arena.alloc(512));
        assertThat(arena.stats().numArenaExtensions()).isEqualTo(extensions);
    }

    @Test
    void shrinkFreesUnusedRegions() {
        final Allocator arena = gpu.pinned();
        arena.free(arena.alloc(4096));
        shrink(arena);
        assertThat(arena.stats().bytesHeld()).isZero();
        assertThat(arena.stats().numArenaShrinkages()).isPositive();
    }
}
