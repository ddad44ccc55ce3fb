package allocator.cuda.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.cuda.testkit.Capture;
import allocator.spi.AllocatorType;
import allocator.spi.DataTransfer;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryRange;
import allocator.spi.MemoryType;
import allocator.spi.OptionKey;
import allocator.spi.OutOfMemoryException;
import allocator.spi.StreamCaptureException;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.lang.foreign.Arena;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Calls while a stream is captured into a graph (T-10). The end of a capture proves that it is valid. */
class StreamCaptureTest {
    private static final MemoryInfo HOST = new MemoryInfo(
            "Cpu", new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT), 64, AllocatorType.DEVICE);

    private final SimulatedGpu gpu =
            SimulatedGpu.of(SimulatedCudaDriver.builder().withLaggingStreams().withMemory(1L << 30));
    private final DriverPool pool = gpu.pool();
    private final SyncStream stream = gpu.stream();
    private final SyncStream other = gpu.stream();
    private Capture capture;

    @BeforeEach
    void begin() {
        capture = Capture.of(gpu.driver, stream);
    }

    @AfterEach
    void close() {
        try {
            capture.close();
        } finally {
            stream.close();
            other.close();
            gpu.releaseAllocator(pool);
            gpu.close();
        }
    }

    private void assertRejected(ThrowingCallable call, String what) {
        assertThatExceptionOfType(StreamCaptureException.class)
                .isThrownBy(call)
                .withMessageContaining("%s, CUstream 0x%x of gpu:0, is being captured", stream, stream.handle())
                .withMessageContaining(what);
    }

    @Test
    void anAllocationFromAPoolIsRejectedBeforeTheDriverIsCalled() {
        final long calls = gpu.driver.controls().calls(CudaFunction.MEM_ALLOC_FROM_POOL_ASYNC);
        assertRejected(() -> pool.allocOnStream(4096, stream), "allocate before the capture begins");
        assertThat(gpu.driver.controls().calls(CudaFunction.MEM_ALLOC_FROM_POOL_ASYNC))
                .isEqualTo(calls);
        assertThat(pool.stats().numFailedAllocs()).isZero();
        assertThat(pool.allocOnStream(0, stream)).isZero();
    }

    @Test
    void otherAllocationsFromAPoolGoOn() {
        final long onOther = pool.allocOnStream(4096, other);
        final long onNone = pool.alloc(4096);
        final DriverPool second = gpu.pool(OptionKey.EXCLUSIVE.name(), "1");
        assertRejected(() -> pool.allocOnStream(4096, stream), "allocate before the capture begins");
        pool.free(onOther);
        pool.free(onNone);
        assertThat(pool.stats().bytesInUse()).isZero();
        capture.close();
        gpu.releaseAllocator(second);
    }

    @Test
    void aFreeOnAnotherStreamAndStatisticsGoOn() {
        capture.close();
        final long block = pool.allocOnStream(4096, other);
        begin();
        pool.free(block);
        assertThat(pool.stats().bytesInUse()).isZero();
    }

    @Test
    void aFreeIsRejectedAndTheBlockStaysLive() {
        capture.close();
        final long block = pool.allocOnStream(4096, stream);
        begin();
        assertRejected(() -> pool.free(block), "free the block, which stays live, after the capture");
        assertThat(pool.stats().bytesInUse()).isEqualTo(4096);
        capture.close();
        pool.free(block);
        assertThat(pool.stats().bytesInUse()).isZero();
    }

    @Test
    void theViewOfACapturedStreamRejectsThemToo() {
        capture.close();
        final long handle = gpu.driver.streams().streamCreate(0);
        try (SyncStream view = gpu.viewSyncStream(gpu.device(0), handle);
                SyncNotification its = view.createNotification()) {
            gpu.driver.streams().streamBeginCapture(0, handle);
            assertThatExceptionOfType(StreamCaptureException.class)
                    .isThrownBy(its::activate)
                    .withMessageContaining("activate; end the capture first");
            gpu.driver.streams().graphDestroy(0, gpu.driver.streams().streamEndCapture(0, handle));
            its.activate();
        }
        gpu.driver.streams().streamDestroy(0, handle);
    }

    @Test
    void waitsAndNotificationsAreRejected() {
        assertRejected(stream::flush, "flush");
        assertRejected(stream::onSessionRunEnd, "flush");
        try (SyncNotification mine = stream.createNotification();
                SyncNotification its = other.createNotification()) {
            assertRejected(mine::activate, "activate");
            its.activate();
            assertRejected(() -> its.waitOnDevice(stream), "wait for " + other);
            assertThat(stream.lastWaitedSyncId(other)).isZero();
            its.waitOnHost();
        }
    }

    @Test
    void aRejectedCloseLeavesTheStreamOpen() {
        assertRejected(stream::close, "end the capture first");
        assertThat(stream.hasEnded()).isFalse();
        capture.close();
        stream.flush();
        stream.close();
        assertThat(stream.hasEnded()).isTrue();
    }

    @Test
    void aFreeThatWouldWaitForTheDeviceLeavesTheMemoryHeld() {
        final DeviceMemory raw = gpu.raw();
        final long block = raw.alloc(4096);
        raw.free(block);
        assertThat(raw.stats().bytesInUse()).isZero();
        assertThat(raw.stats().bytesHeld()).isEqualTo(4096);
        capture.close();
        assertThat(raw.returnAgain()).isEqualTo(4096);
        assertThat(raw.stats().bytesHeld()).isZero();
        gpu.releaseAllocator(raw);
    }

    @Test
    void exhaustionIsReportedWithoutAWaitForTheDevice() {
        final long half = pool.alloc(512 << 20);
        assertThatExceptionOfType(OutOfMemoryException.class)
                .isThrownBy(() -> pool.alloc(768 << 20))
                .withMessageContaining("is being captured");
        pool.free(half);
        final DriverPool limited = gpu.pool("arena.max_mem", "33554432", "arena.exclusive", "1");
        final long block = limited.allocOnStream(24 << 20, other);
        assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> limited.alloc(16 << 20));
        limited.free(block);
        capture.close();
        gpu.releaseAllocator(limited);
    }

    /** A copy between ranges that stay becomes part of the graph; pageable memory need not stay. */
    @Test
    void copiesOfPageableMemoryAreRejected() {
        final DataTransfer transfer = gpu.dataTransfer().orElseThrow();
        capture.close();
        final long first = pool.alloc(4096);
        final long second = pool.alloc(4096);
        begin();
        final MemoryInfo memory = gpu.device(0);
        transfer.copy(new MemoryRange(memory, first, 4096), new MemoryRange(memory, second, 4096), stream);
        try (Arena arena = Arena.ofConfined()) {
            final MemoryRange host = new MemoryRange(HOST, arena.allocate(16).address(), 16);
            assertRejected(() -> transfer.copy(host, new MemoryRange(memory, first, 16), stream), "copy");
        }
        pool.free(first);
        pool.free(second);
    }

    @Test
    void theDriversOwnFailureIsReported() {
        capture.close();
        gpu.driver.controls().failOnCall(CudaFunction.STREAM_IS_CAPTURING, 1, CudaResult.ILLEGAL_ADDRESS);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(() -> pool.allocOnStream(4096, other));
        final long block = pool.allocOnStream(4096, other);
        gpu.driver.controls().failOnCall(CudaFunction.STREAM_IS_CAPTURING, 1, CudaResult.ILLEGAL_ADDRESS);
        pool.free(block); // whether the stream is captured is not known, so the driver decides
    }
}
