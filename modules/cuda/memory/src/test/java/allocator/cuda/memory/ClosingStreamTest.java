package allocator.cuda.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.spi.DoubleFreeException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Memory of a pool that is freed while its stream is being closed. */
class ClosingStreamTest {
    private static final int UNKNOWN_ERROR = 999;
    private static final long MIB = 1 << 20;
    private static final Duration LONG = Duration.ofSeconds(10);

    private final SimulatedGpu gpu =
            SimulatedGpu.of(SimulatedCudaDriver.builder().withDevices(1).withLaggingStreams());
    private final DriverPool pool = gpu.pool();
    private final CudaSyncStream stream = (CudaSyncStream) gpu.stream();
    private final CountDownLatch isWorkDone = new CountDownLatch(1);

    @AfterEach
    void close() {
        isWorkDone.countDown();
        stream.close();
        gpu.releaseAllocator(pool);
        gpu.close();
    }

    private long frees() {
        return gpu.driver.controls().calls(CudaFunction.MEM_FREE_ASYNC);
    }

    /** Submits work that waits for the calling thread, and closes the stream in another one. */
    private Thread beginClose() {
        gpu.driver.streams().launchHostFunction(0, stream.handle(), () -> {
            try {
                isWorkDone.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        final Thread closing = Thread.ofPlatform().daemon().start(stream::close);
        while (!stream.isClosed()) {
            Thread.onSpinWait();
        }
        return closing;
    }

    @Test
    void isGivenBackWhenTheStreamHasEnded() throws InterruptedException {
        final long address = pool.allocOnStream(MIB, stream);
        final Thread closing = beginClose();
        assertTimeoutPreemptively(LONG, () -> pool.free(address));
        assertThat(pool.stats().bytesInUse()).isZero();
        assertThatExceptionOfType(DoubleFreeException.class).isThrownBy(() -> pool.free(address));
        assertThat(pool.shrink().bytesHeld()).isPositive();
        assertThat(frees()).isZero();
        final long other = pool.alloc(MIB);
        assertThat(other).isNotEqualTo(address);
        pool.free(other);

        isWorkDone.countDown();
        closing.join();
        assertThat(frees()).isEqualTo(2);
        assertThat(pool.shrink().bytesHeld()).isZero();
    }

    @Test
    void aSecondReturnDoesNotStopAllocations() throws InterruptedException {
        final long address = pool.allocOnStream(MIB, stream);
        gpu.driver.controls().failAlways(CudaFunction.MEM_FREE_ASYNC, UNKNOWN_ERROR);
        pool.free(address);
        gpu.driver.controls().clearFailures();
        final Thread closing = beginClose();
        assertTimeoutPreemptively(LONG, () -> {
            pool.shrink();
            pool.free(pool.alloc(MIB));
            assertThatExceptionOfType(DoubleFreeException.class).isThrownBy(() -> pool.free(address));
        });

        isWorkDone.countDown();
        closing.join();
        assertThat(pool.shrink().bytesHeld()).isZero();
    }

    @Test
    void isGivenBackWhicheverComesFirst() throws InterruptedException {
        final int rounds = 200;
        final int blocks = 8;
        for (int round = 0; round < rounds; round++) {
            final CudaSyncStream brief = (CudaSyncStream) gpu.stream();
            final List<Long> addresses = new ArrayList<>();
            for (int i = 0; i < blocks; i++) {
                addresses.add(pool.allocOnStream(256, brief));
            }
            final Thread closing = Thread.ofPlatform().start(brief::close);
            addresses.forEach(pool::free);
            closing.join();
        }
        assertThat(frees()).isEqualTo(rounds * blocks);
    }
}
