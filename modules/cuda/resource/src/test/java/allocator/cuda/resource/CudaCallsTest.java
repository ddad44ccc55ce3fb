package allocator.cuda.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.driver.CudaDriver;
import allocator.cuda.memory.CudaDevice;
import allocator.cuda.memory.CudaEpFactory;
import allocator.cuda.memory.DriverPool;
import allocator.cuda.memory.PoolSettings;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.resource.ResourceAllocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.SyncStream;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

class CudaCallsTest {
    private static final long MIB = 1 << 20;

    /** A provider whose streams are those of the CUDA providers. */
    private static final class Factory extends CudaEpFactory {
        Factory(CudaDriver driver) {
            super(() -> new CudaAvailability.Available(driver));
        }

        @Override
        public String name() {
            return "test";
        }

        @Override
        public List<OptionKey<?>> optionKeys() {
            return List.of();
        }

        @Override
        protected Choice choose(CudaDevice device, MemoryInfo info, AllocatorOptions options) {
            return new Choice(null, () -> DriverPool.create(device, PoolSettings.from(options), options));
        }
    }

    /** A stream whose close is under way: it waits for the device, which waits for the test. */
    @Nested
    @Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD) // a wait for the end of a stream ignores interrupts
    class StreamsBeingClosed {
        private final SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build();
        private final AtomicReference<Runnable> atSynchronize = new AtomicReference<>(() -> {});
        private final Factory factory = new Factory(HookedDriver.of(
                driver, "streamSynchronize", () -> atSynchronize.get().run(), () -> {}));
        private final MemoryInfo memory =
                factory.discoverDevices().devices().getFirst().defaultMemory().orElseThrow();
        private final SyncStream stream = factory.createSyncStream(memory);
        private final CudaAsyncResource async = new CudaAsyncResource(driver, 0);
        private final CountDownLatch isClosing = new CountDownLatch(1);
        private final CountDownLatch mayEnd = new CountDownLatch(1);

        @AfterEach
        void nothingIsLeft() {
            mayEnd.countDown();
            async.close();
            factory.close();
            driver.close();
        }

        private Thread startClose() throws InterruptedException {
            atSynchronize.set(() -> {
                isClosing.countDown();
                try {
                    mayEnd.await();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            });
            final Thread closer = Thread.ofPlatform().start(stream::close);
            isClosing.await();
            return closer;
        }

        @Test
        void theirHandleReachesNoDriver() throws InterruptedException {
            final Thread closer = startClose();
            try (CudaEvents events = new CudaEvents(driver, 0)) {
                final long calls = driver.controls().calls();
                assertThatThrownBy(() -> async.allocate(MIB, 256, stream)).isInstanceOf(IllegalStateException.class);
                assertThatThrownBy(() -> events.record(stream)).isInstanceOf(IllegalStateException.class);
                assertThat(driver.controls().calls()).isEqualTo(calls);
            } finally {
                mayEnd.countDown();
                closer.join();
            }
        }

        /** Work of the stream may wait for the thread that frees. */
        @Test
        void aFreeDoesNotWaitForTheirEnd() throws InterruptedException {
            try (ResourceAllocator allocator = ResourceAllocator.of(async)) {
                final long block = allocator.allocOnStream(MIB, stream);
                final Thread closer = startClose();
                allocator.free(block);
                assertThat(allocator.stats().bytesInUse()).isZero();
                assertThat(allocator.unreturnedBytes()).isEqualTo(MIB);
                mayEnd.countDown();
                closer.join();
                allocator.shrink();
                assertThat(allocator.unreturnedBytes()).isZero();
            }
        }
    }
}
