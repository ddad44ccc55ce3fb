package allocator.cuda.mempool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.driver.CudaDriver;
import allocator.cuda.testkit.Capture;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.StreamCaptureException;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * ONNX Runtime's tests of its memory pool allocator, and what a pool must survive beyond them: threshold 1 MiB, and 4
 * MiB to keep on shrink.
 */
abstract class CudaMempoolContract {
    private static final long MIB = 1 << 20;

    private CudaDriver driver;
    private EpFactory factory;
    private MemoryInfo memory;
    private StreamAwareAllocator pool;

    abstract CudaDriver openDriver();

    void closeDriver() {}

    @BeforeEach
    void open() {
        driver = openDriver();
        factory = new CudaMempoolFactory(() -> new CudaAvailability.Available(driver));
        memory = factory.discoverDevices().devices().getFirst().defaultMemory().orElseThrow();
        pool = create(Map.of(
                "arena.cuda_mempool_release_threshold", Long.toString(MIB),
                "arena.cuda_mempool_bytes_to_keep_on_shrink", Long.toString(4 * MIB)));
    }

    @AfterEach
    void close() {
        if (factory == null) {
            return; // skipped
        }
        factory.releaseAllocator(pool);
        factory.close();
        closeDriver();
    }

    private StreamAwareAllocator create(Map<String, String> options) {
        return (StreamAwareAllocator) factory.createAllocator(memory, AllocatorOptions.of(options));
    }

    private void touch(long address, long byteSize, SyncStream stream) {
        driver.memory().memsetD8Async(0, address, (byte) 0x5A, byteSize, stream.handle());
    }

    @Test
    void twoAllocatorsAreOfferedForADevice() {
        final EpDevice device = factory.discoverDevices().devices().getFirst();
        assertThat(device.defaultMemory()).isPresent();
        assertThat(device.hostAccessibleMemory()).isPresent();
        assertThat(factory.createAllocator(memory, AllocatorOptions.EMPTY)).isSameAs(pool);
        factory.releaseAllocator(pool);
    }

    @Test
    void aCapturedStreamIsRejectedAndItsCaptureGoesOn() {
        try (SyncStream stream = factory.createSyncStream(memory);
                SyncStream other = factory.createSyncStream(memory)) {
            final long block = pool.allocOnStream(MIB, stream);
            try (Capture _ = Capture.of(driver, stream)) {
                assertThatExceptionOfType(StreamCaptureException.class)
                        .isThrownBy(() -> pool.allocOnStream(MIB, stream))
                        .withMessageContaining("allocate before the capture begins");
                assertThatExceptionOfType(StreamCaptureException.class).isThrownBy(() -> pool.free(block));
                pool.free(pool.allocOnStream(MIB, other));
                pool.free(pool.alloc(MIB));
            }
            pool.free(block);
        }
    }

    @Test
    void allocAndFreeOnTheDefaultStream() {
        final long address = pool.alloc(MIB);
        driver.memory().memsetD8(0, address, (byte) 1, MIB);
        driver.devices().ctxSynchronize(0);
        assertThat(pool.stats().numAllocs()).isPositive();
        pool.free(address);
        assertThat(pool.stats().bytesInUse()).isZero();
    }

    @Test
    void allocOnTwoStreamsAndFreeInOrder() {
        try (SyncStream first = factory.createSyncStream(memory);
                SyncStream second = factory.createSyncStream(memory)) {
            final long one = pool.allocOnStream(2 * MIB, first);
            final long other = pool.allocOnStream(2 * MIB, second);
            touch(one, 2 * MIB, first);
            touch(other, 2 * MIB, second);
            pool.free(one);
            pool.free(other);
            first.onSessionRunEnd();
            second.onSessionRunEnd();
        }
        driver.devices().ctxSynchronize(0);
    }

    @Test
    void shrinkTrimsThePoolAndAllowsFurtherUse() {
        final List<Long> addresses = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            addresses.add(pool.alloc(8 * MIB));
        }
        addresses.forEach(pool::free);
        final long held = pool.stats().bytesHeld();
        final var report = ((ShrinkableAllocator) pool).shrink();
        assertThat(report.bytesHeld()).isEqualTo(held - report.bytesReleased());
        assertThat(pool.stats().bytesHeld()).isEqualTo(report.bytesHeld());
        assertThat(pool.stats().numArenaShrinkages()).isEqualTo(1);
        pool.free(pool.alloc(2 * MIB));
    }

    @Test
    void thePoolIsOrderedByTheDevice() {
        assertThat(pool.isOrderedByDevice()).isTrue();
    }

    @Test
    void reserveComesFromThePool() {
        final long address = pool.reserve(512 << 10);
        assertThat(pool.stats().numReserves()).isEqualTo(1);
        assertThat(pool.stats().bytesInUse()).isEqualTo(512 << 10);
        pool.free(address);
    }

    @Test
    void closingCompletesQueuedFreesThoughTheirStreamIsDestroyed() {
        final StreamAwareAllocator own = create(Map.of("arena.exclusive", "1"));
        final SyncStream stream = factory.createSyncStream(memory);
        for (int i = 0; i < 4; i++) {
            final long address = own.allocOnStream(MIB, stream);
            touch(address, MIB, stream);
            if (i % 2 == 0) {
                own.free(address);
            }
        }
        stream.close();
        factory.releaseAllocator(own);
        driver.devices().ctxSynchronize(0);
    }

    @Test
    void requestsForMoreThanTheDeviceHasFailAndLeaveOthersAlone() {
        final long live = pool.alloc(MIB);
        driver.memory().memsetD8(0, live, (byte) 7, MIB);
        driver.devices().ctxSynchronize(0);
        final long tooMuch = driver.memory().memGetInfo(0).totalByteSize() * 2;
        assertThatExceptionOfType(OutOfMemoryException.class)
                .isThrownBy(() -> pool.alloc(tooMuch))
                .satisfies(e -> assertThat(e.shortage().deviceFree()).isPositive());
        final long justTooMuch = driver.memory().memGetInfo(0).totalByteSize();
        assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> pool.alloc(justTooMuch));
        assertThat(pool.stats().numFailedAllocs()).isEqualTo(2);
        pool.free(live);
        pool.free(pool.alloc(MIB));
    }

    @Test
    void aThreadThatNeverTouchedCudaFrees() throws InterruptedException {
        final long address = pool.alloc(MIB);
        final Thread thread = Thread.ofPlatform().start(() -> pool.free(address));
        thread.join();
        assertThat(pool.stats().bytesInUse()).isZero();
    }

    @Test
    void workThatHopsThreadsDoesNotGrowThePool() throws InterruptedException {
        long plateau = 0;
        for (int run = 0; run < 20; run++) {
            final Thread thread = Thread.ofPlatform().start(() -> {
                try (SyncStream stream = factory.createSyncStream(memory)) {
                    for (int i = 0; i < 10; i++) {
                        final long address = pool.allocOnStream(4 * MIB, stream);
                        touch(address, 4 * MIB, stream);
                        pool.free(address);
                    }
                    stream.onSessionRunEnd();
                }
            });
            thread.join();
            if (run == 2) {
                plateau = pool.stats().peakBytesHeld();
            }
        }
        assertThat(pool.stats().peakBytesHeld()).isEqualTo(plateau);
    }
}
