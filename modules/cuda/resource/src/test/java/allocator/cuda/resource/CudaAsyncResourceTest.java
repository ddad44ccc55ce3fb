package allocator.cuda.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.resource.ResourceAllocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.OutOfMemoryException;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class CudaAsyncResourceTest {
    private static final long MIB = 1 << 20;
    private static final int UNKNOWN_ERROR = 999;

    private final SimulatedCudaDriver driver =
            SimulatedCudaDriver.builder().withMemory(64 * MIB).build();

    @BeforeEach
    void retain() {
        driver.devices().primaryContextRetain(0);
    }

    @AfterEach
    void nothingIsLeft() {
        driver.devices().primaryContextRelease(0);
        driver.close();
    }

    @Nested
    class Statistics {
        private CudaAsyncResource async;

        @BeforeEach
        void open() {
            async = new CudaAsyncResource(driver, 0);
        }

        @AfterEach
        void close() {
            async.close();
        }

        private AllocatorStats stats() {
            return async.stats().orElseThrow();
        }

        @Test
        void blocksCountFromTheirAllocationToTheirDeallocation() {
            try (DriverStream stream = new DriverStream(driver, async.memory())) {
                final long one = async.allocate(MIB);
                final long two = async.allocate(3 * MIB, 256, stream);
                final long three = async.reserve(2 * MIB, 256);
                assertThat(stats().bytesInUse()).isEqualTo(6 * MIB);
                assertThat(stats().requestedBytesInUse()).isEqualTo(6 * MIB);
                assertThat(stats().numAllocs()).isEqualTo(3);
                assertThat(stats().numReserves()).isEqualTo(1);
                assertThat(stats().maxAllocSize()).isEqualTo(3 * MIB);
                async.deallocate(one, MIB);
                async.deallocate(two, 3 * MIB, 256, stream);
                async.deallocate(three, 2 * MIB);
                assertThat(stats().bytesInUse()).isZero();
                assertThat(stats().peakBytesInUse()).isEqualTo(6 * MIB);
            }
        }

        @Test
        void whatThePoolKeepsIsHeldUntilAShrink() {
            try (DriverStream stream = new DriverStream(driver, async.memory())) {
                async.deallocate(async.allocate(MIB, 256, stream), MIB, 256, stream);
            }
            assertThat(stats().bytesHeld()).isGreaterThanOrEqualTo(MIB);
            assertThat(stats().freeBytes()).isEqualTo(stats().bytesHeld());
            async.shrink();
            assertThat(stats().bytesHeld()).isZero();
            assertThat(stats().peakBytesHeld()).isGreaterThanOrEqualTo(MIB);
            assertThat(stats().numArenaShrinkages()).isEqualTo(1);
        }

        @Test
        void memoryOfCallsThatFailGoesBackWithAShrink() {
            final long block = async.allocate(MIB);
            driver.controls().failAlways(CudaFunction.STREAM_SYNCHRONIZE, UNKNOWN_ERROR);
            assertThatThrownBy(() -> async.allocate(MIB)).isInstanceOf(DeviceException.class);
            driver.controls().clearFailures();
            driver.controls().failAlways(CudaFunction.MEM_FREE_ASYNC, UNKNOWN_ERROR);
            async.deallocate(block, MIB);
            driver.controls().clearFailures();
            assertThat(stats().numAllocs()).isEqualTo(1);
            assertThat(stats().bytesInUse()).isZero();
            assertThat(stats().bytesHeld()).isGreaterThanOrEqualTo(MIB);
            async.shrink();
            assertThat(stats().bytesHeld()).isZero();
        }

        @Test
        void anAllocatorAboveCountsEachFailureOnce() {
            try (ResourceAllocator allocator = ResourceAllocator.of(async)) {
                assertThatThrownBy(() -> allocator.alloc(65 * MIB)).isInstanceOf(OutOfMemoryException.class);
                allocator.free(allocator.reserve(MIB));
                assertThat(allocator.stats().numFailedAllocs()).isEqualTo(1);
                assertThat(allocator.stats().numReserves()).isEqualTo(1);
                assertThat(allocator.stats().bytesHeld()).isEqualTo(stats().bytesHeld());
            }
        }
    }

    @Nested
    class ClosedStreams {
        private CudaAsyncResource async;

        @BeforeEach
        void open() {
            async = new CudaAsyncResource(driver, 0);
        }

        @AfterEach
        void close() {
            async.close();
        }

        @Test
        void everyCallIsRejectedBeforeTheDriver() {
            final DriverStream stream = new DriverStream(driver, async.memory());
            final long block = async.allocate(MIB, 256, stream);
            stream.close();
            final long calls = driver.controls().calls();
            assertThatThrownBy(() -> async.allocate(MIB, 256, stream)).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(() -> async.deallocate(block, MIB, 256, stream))
                    .isInstanceOf(IllegalStateException.class);
            assertThat(driver.controls().calls()).isEqualTo(calls);
            assertThat(async.stats().orElseThrow().bytesInUse()).isEqualTo(MIB);
            async.deallocate(block, MIB, 256);
        }

        @Test
        void anAllocatorAboveFreesTheirMemory() {
            try (ResourceAllocator allocator = ResourceAllocator.of(async)) {
                final DriverStream stream = new DriverStream(driver, async.memory());
                final long block = allocator.allocOnStream(MIB, stream);
                stream.close();
                allocator.free(block);
                assertThat(allocator.stats().bytesInUse()).isZero();
            }
        }
    }

    @Nested
    class Closed {
        private final AtomicLong late = new AtomicLong();
        private CudaAsyncResource async;
        private long block;

        @BeforeEach
        void open() {
            async = new CudaAsyncResource(driver, 0);
            block = async.allocate(MIB);
        }

        /** Frees what was live at the close, which only the driver can do then. */
        @AfterEach
        void release() {
            final long stream = driver.streams().streamCreate(0);
            driver.pools().memFreeAsync(0, block, stream);
            driver.streams().streamSynchronize(0, stream);
            driver.streams().streamDestroy(0, stream);
        }

        private void assertRejects() {
            try (DriverStream stream = new DriverStream(driver, async.memory())) {
                final long calls = driver.controls().calls();
                for (ThrowingCallable call : List.<ThrowingCallable>of(
                        () -> async.allocate(MIB),
                        () -> async.allocate(0),
                        () -> async.allocate(MIB, 256, stream),
                        () -> async.reserve(MIB, 256),
                        () -> async.deallocate(block, MIB),
                        () -> async.deallocate(block, MIB, 256, stream),
                        async::shrink,
                        async::stats)) {
                    assertThatThrownBy(call)
                            .isInstanceOf(AllocatorClosedException.class)
                            .hasMessageEndingWith("is closed");
                }
                assertThat(driver.controls().calls()).isEqualTo(calls);
            }
        }

        @Test
        void everyCallIsRejectedAndReachesNoDriver() {
            async.close();
            assertRejects();
            async.close();
        }

        @Test
        void everyCallIsRejectedAfterACloseThatFailed() {
            driver.controls().failAlways(CudaFunction.MEM_POOL_DESTROY, UNKNOWN_ERROR);
            assertThatThrownBy(async::close).isInstanceOf(DeviceException.class);
            driver.controls().clearFailures();
            assertRejects();
            async.close();
        }

        /** The other thread is inside as long as it reads the handle of its stream. */
        @Test
        void aCloseWaitsForTheCallsInside() throws InterruptedException {
            final CountDownLatch isInside = new CountDownLatch(1);
            final AtomicReference<Thread> closer = new AtomicReference<>();
            try (DriverStream stream = new DriverStream(driver, async.memory()) {
                @Override
                public long handle() {
                    isInside.countDown();
                    while (closer.get() == null) {
                        Thread.onSpinWait();
                    }
                    awaitClosed();
                    return super.handle();
                }
            }) {
                final Thread caller = Thread.ofPlatform().start(() -> late.set(async.allocate(MIB, 256, stream)));
                isInside.await();
                closer.set(Thread.ofPlatform().start(async::close));
                caller.join();
                closer.get().join();
            }
            assertThat(late.get()).isNotZero();
            final long stream = driver.streams().streamCreate(0);
            driver.pools().memFreeAsync(0, late.get(), stream);
            driver.streams().streamDestroy(0, stream);
        }

        private void awaitClosed() {
            final long end = System.nanoTime() + 10_000_000_000L;
            boolean isClosed = false;
            while (!isClosed && System.nanoTime() < end) {
                try {
                    async.stats();
                } catch (AllocatorClosedException e) {
                    isClosed = true;
                }
            }
            assertThat(isClosed).isTrue();
        }
    }
}
