package allocator.cuda.arena;

import static allocator.cuda.arena.CudaArenaFixture.MIB;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.cuda.driver.CudaStreams;
import allocator.spi.Allocator;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.StreamCaptureException;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import org.junit.jupiter.api.Test;

/** A stream that is captured into a graph (T-10). Ending the capture proves that nothing has invalidated it. */
abstract class CaptureContract {
    private final CudaArenaFixture gpu;

    CaptureContract(CudaArenaFixture gpu) {
        this.gpu = gpu;
    }

    private void end(SyncStream stream) {
        final CudaStreams streams = gpu.driver().streams();
        streams.graphDestroy(0, streams.streamEndCapture(0, stream.handle()));
    }

    @Test
    void anArenaServesACapturedStreamAndExtends() {
        final StreamAwareAllocator arena =
                (StreamAwareAllocator) gpu.device("arena.initial_chunk_size_bytes", "1048576");
        final Allocator pinned = gpu.pinned();
        try (SyncStream stream = gpu.factory().createSyncStream(gpu.deviceMemory())) {
            gpu.driver().streams().streamBeginCapture(0, stream.handle());
            final long first = arena.allocOnStream(MIB, stream);
            final long second = arena.allocOnStream(8 * MIB, stream);
            final long staged = pinned.alloc(MIB);
            gpu.driver().memory().memsetD8Async(0, second, (byte) 1, 8 * MIB, stream.handle());
            assertThat(arena.stats().numArenaExtensions()).isGreaterThan(1);
            end(stream);
            arena.free(first);
            arena.free(second);
            pinned.free(staged);
        }
    }

    @Test
    void aShrinkKeepsWhatItCannotReturnDuringACapture() {
        final Allocator arena = gpu.device();
        arena.free(arena.alloc(MIB));
        try (SyncStream stream = gpu.factory().createSyncStream(gpu.deviceMemory())) {
            gpu.driver().streams().streamBeginCapture(0, stream.handle());
            try {
                ((ShrinkableAllocator) arena).shrink();
            } catch (allocator.spi.AllocatorException e) {
                assertThat(e).hasStackTraceContaining("is being captured");
            }
            assertThat(arena.stats().bytesHeld()).isPositive();
            end(stream);
        }
        ((ShrinkableAllocator) arena).shrink();
        assertThat(arena.stats().bytesHeld()).isZero();
    }

    @Test
    void aPoolRejectsACapturedStream() {
        final StreamAwareAllocator pool = (StreamAwareAllocator) gpu.pool();
        try (SyncStream stream = gpu.factory().createSyncStream(gpu.deviceMemory())) {
            final long before = pool.allocOnStream(MIB, stream);
            stream.flush();
            gpu.driver().streams().streamBeginCapture(0, stream.handle());
            assertThatExceptionOfType(StreamCaptureException.class)
                    .isThrownBy(() -> pool.allocOnStream(MIB, stream))
                    .withMessageContaining("%s", stream);
            assertThatExceptionOfType(StreamCaptureException.class).isThrownBy(() -> pool.free(before));
            end(stream);
            pool.free(before);
            pool.free(pool.allocOnStream(MIB, stream));
        }
    }

    @Test
    void waitsAndNotificationsAreRejectedAndThoseOfOtherStreamsGoOn() {
        try (SyncStream stream = gpu.factory().createSyncStream(gpu.deviceMemory());
                SyncStream other = gpu.factory().createSyncStream(gpu.deviceMemory());
                SyncNotification mine = stream.createNotification();
                SyncNotification its = other.createNotification()) {
            gpu.driver().streams().streamBeginCapture(0, stream.handle());
            assertThatExceptionOfType(StreamCaptureException.class).isThrownBy(stream::flush);
            assertThatExceptionOfType(StreamCaptureException.class).isThrownBy(mine::activate);
            its.activate();
            assertThatExceptionOfType(StreamCaptureException.class).isThrownBy(() -> its.waitOnDevice(stream));
            its.waitOnHost();
            other.flush();
            other.onSessionRunEnd();
            end(stream);
            stream.flush();
        }
    }
}
