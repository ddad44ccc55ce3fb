package allocator.cuda.arena;

import static allocator.cuda.arena.CudaArenaFixture.MIB;
import static allocator.cuda.arena.CudaArenaFixture.shrink;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The faults that ONNX Runtime's CUDA arenas have and this provider has not, by the numbers of their reports. */
abstract class KnownFaultsContract {
    private final CudaArenaFixture gpu;

    KnownFaultsContract(CudaArenaFixture gpu) {
        this.gpu = gpu;
    }

    /**
     * Memory grew without bound where runs hopped from thread to thread: their streams' chunks stayed bound to them.
     */
    @Test
    void issue29351_workThatHopsThreadsDoesNotGrowTheArena() throws InterruptedException {
        final StreamAwareAllocator arena = (StreamAwareAllocator) gpu.device();
        final List<SyncStream> streams = new ArrayList<>();
        long plateau = 0;
        for (int run = 0; run < 24; run++) {
            final int streamIndex = run % 4;
            final Thread thread = Thread.ofPlatform().start(() -> {
                if (streams.size() == streamIndex) {
                    streams.add(gpu.factory().createSyncStream(gpu.deviceMemory()));
                }
                final SyncStream stream = streams.get(streamIndex);
                for (int i = 0; i < 10; i++) {
                    final long address = arena.allocOnStream(3 * MIB, stream);
                    gpu.driver().memory().memsetD8Async(0, address, (byte) i, 3 * MIB, stream.handle());
                    arena.free(address);
                }
                stream.onSessionRunEnd();
            });
            thread.join();
            plateau = run == 0 ? arena.stats().bytesHeld() : plateau;
            assertThat(arena.stats().bytesHeld()).isEqualTo(plateau);
        }
        streams.forEach(SyncStream::close);
    }

    /** A stream was destroyed while chunks were bound to it, and other streams used them during its remaining work. */
    @Test
    void issue31983_aClosedStreamsMemoryIsUsedOnlyWhenItsWorkIsDone() {
        final StreamAwareAllocator arena = (StreamAwareAllocator) gpu.device();
        final SyncStream first = gpu.factory().createSyncStream(gpu.deviceMemory());
        final long freed = arena.allocOnStream(512 << 10, first);
        final long live = arena.allocOnStream(256 << 10, first);
        gpu.driver().memory().memsetD8Async(0, freed, (byte) 1, 512 << 10, first.handle());
        gpu.driver().memory().memsetD8Async(0, live, (byte) 1, 256 << 10, first.handle());
        arena.free(freed);
        first.close();
        try (SyncStream second = gpu.factory().createSyncStream(gpu.deviceMemory())) {
            final long again = arena.allocOnStream(512 << 10, second);
            assertThat(again).isEqualTo(freed);
            gpu.driver().memory().memsetD8Async(0, again, (byte) 2, 512 << 10, second.handle());
            arena.free(again);
            arena.free(live);
            second.onSessionRunEnd();
        }
        assertThat(shrink(arena).bytesHeld()).isZero();
    }

    /** The fix of the above crashed when the arena was released before the stream was closed. */
    @Test
    void issue32445_aStreamClosesAfterItsArena() {
        final StreamAwareAllocator arena = (StreamAwareAllocator) gpu.device();
        final SyncStream stream = gpu.factory().createSyncStream(gpu.deviceMemory());
        arena.free(arena.allocOnStream(4096, stream));
        gpu.release(arena);
        stream.onSessionRunEnd();
        stream.close();
    }

    /** Memory bound to no stream was given to streams although work of others was still queued on it. */
    @Test
    void issue32342_memoryWithoutAStreamIsNeverMemoryThatAStreamMayStillUse() {
        final StreamAwareAllocator arena =
                (StreamAwareAllocator) gpu.device("arena.initial_chunk_size_bytes", Long.toString(MIB));
        try (SyncStream stream = gpu.factory().createSyncStream(gpu.deviceMemory())) {
            final long freed = arena.allocOnStream(MIB, stream);
            gpu.driver().memory().memsetD8Async(0, freed, (byte) 1, MIB, stream.handle());
            arena.free(freed);
            final long other = arena.alloc(MIB);
            assertThat(other).isNotEqualTo(freed);
            gpu.driver().memory().memsetD8(0, other, (byte) 2, MIB);
            gpu.driver().devices().ctxSynchronize(0);
            arena.free(other);
        }
    }

    /** A run that ended without a synchronization left its chunks for others to use. */
    @Test
    void aStreamsMemoryIsItsOwnUntilTheRunEnds() {
        final StreamAwareAllocator arena = (StreamAwareAllocator) gpu.device();
        try (SyncStream first = gpu.factory().createSyncStream(gpu.deviceMemory());
                SyncStream second = gpu.factory().createSyncStream(gpu.deviceMemory())) {
            final long address = arena.allocOnStream(MIB, first);
            arena.free(address);
            final long other = arena.allocOnStream(MIB, second);
            assertThat(other).isNotEqualTo(address);
            first.onSessionRunEnd();
            final long again = arena.allocOnStream(MIB, second);
            assertThat(again).isEqualTo(address);
            arena.free(other);
            arena.free(again);
        }
    }

    @Test
    void aClosedStreamGetsNoMemory() {
        final StreamAwareAllocator arena = (StreamAwareAllocator) gpu.device();
        final SyncStream stream = gpu.factory().createSyncStream(gpu.deviceMemory());
        stream.close();
        assertThatIllegalStateException().isThrownBy(() -> arena.allocOnStream(1, stream));
    }
}
