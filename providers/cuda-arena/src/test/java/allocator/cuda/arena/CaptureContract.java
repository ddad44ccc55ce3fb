package allocator.cuda.arena;

import static allocator.cuda.arena.CudaArenaFixture.MIB;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.cuda.testkit.Capture;
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

    private Capture capture(SyncStream stream) {
        return Capture.of(gpu.driver(), stream);
    }

    @Test
    void anArenaServesACapturedStreamAndExtends() {
        final StreamAwareAllocator arena =
                (StreamAwareAllocator) gpu.device("arena.initial_chunk_size_bytes", "1048576");
        final Allocator pinned = gpu.pinned();
        try (SyncStream stream = gpu.factory().createSyncStream(gpu.deviceMemory())) {
            final long first;
            final long second;
            final long staged;
            try (Capture _ = capture(stream)) {
                first = arena.allocOnStream(MIB, stream);
                second = arena.allocOnStream(8 * MIB, stream);
                staged = pinned.alloc(MIB);
                gpu.driver().memory().memsetD8Async(0, second, (byte) 1, 8 * MIB, stream.handle());
                assertThat(arena.stats().numArenaExtensions()).isGreaterThan(1);
            }
            arena.free(first);
            arena.free(second);
            pinned.free(staged);
        }
    }

    @Test
    void aShrinkKeepsWhatItCannotReturnDuringACapture() {
        final Allocator arena = gpu.device();
        arena.free(arena.alloc(MIB));
        try (SyncStream stream = gpu.factory().createSyncStream(gpu.deviceMemory());
                Capture _ = capture(stream)) {
            try {
                ((ShrinkableAllocator) arena).shrink();
            } catch (allocator.spi.AllocatorException e) {
                assertThat(e).hasStackTraceContaining("is being captured");
            }
            assertThat(arena.stats().bytesHeld()).isPositive();
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
            try (Capture _ = capture(stream)) {
                assertThatExceptionOfType(StreamCaptureException.class)
                        .isThrownBy(() -> pool.allocOnStream(MIB, stream))
                        .withMessageContaining("%s", stream);
                assertThatExceptionOfType(StreamCaptureException.class).isThrownBy(() -> pool.free(before));
            }
            pool.free(before);
            pool.free(pool.allocOnStream(MIB, stream));
        }
    }

    @Test
    void aPoolServesOtherStreams() {
        final StreamAwareAllocator pool = (StreamAwareAllocator) gpu.pool();
        try (SyncStream stream = gpu.factory().createSyncStream(gpu.deviceMemory());
                SyncStream other = gpu.factory().createSyncStream(gpu.deviceMemory());
                Capture _ = capture(stream)) {
            pool.free(pool.allocOnStream(MIB, other));
            pool.free(pool.alloc(MIB));
        }
    }

    @Test
    void waitsAndNotificationsAreRejectedAndThoseOfOtherStreamsGoOn() {
        try (SyncStream stream = gpu.factory().createSyncStream(gpu.deviceMemory());
                SyncStream other = gpu.factory().createSyncStream(gpu.deviceMemory());
                SyncNotification mine = stream.createNotification();
                SyncNotification its = other.createNotification()) {
            try (Capture _ = capture(stream)) {
                assertThatExceptionOfType(StreamCaptureException.class).isThrownBy(stream::flush);
                assertThatExceptionOfType(StreamCaptureException.class).isThrownBy(mine::activate);
                its.activate();
                assertThatExceptionOfType(StreamCaptureException.class).isThrownBy(() -> its.waitOnDevice(stream));
                its.waitOnHost();
                other.flush();
                other.onSessionRunEnd();
            }
            stream.flush();
        }
    }
}
