package allocator.cuda.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class DirectMemoryTest {
    private static final int UNKNOWN_ERROR = 999;
    private static final long CAPACITY = 1 << 20;

    private final SimulatedGpu gpu =
            SimulatedGpu.of(SimulatedCudaDriver.builder().withMemory(CAPACITY).withLaggingStreams());
    private final DeviceMemory memory = gpu.raw();

    @AfterEach
    void close() {
        gpu.releaseAllocator(memory);
        gpu.close();
    }

    @Test
    void aBlockIsExactlyWhatWasAskedFor() {
        final long address = memory.alloc(1000);
        assertThat(address % memory.info().byteAlignment()).isZero();
        assertThat(memory.stats().withoutCounters())
                .isEqualTo(new AllocatorStats.Builder()
                        .inUse(1000, 1000, 1000)
                        .held(1000, 1000)
                        .calls(1, 0, 0, 1000)
                        .build());
        memory.free(address);
        final long reserved = memory.reserve(1);
        assertThat(memory.stats().numReserves()).isEqualTo(1);
        memory.free(reserved);
        assertThat(memory.stats().bytesHeld()).isZero();
    }

    @Test
    void blocksAreListedWhetherLiveOrNotTakenBack() {
        final long live = memory.alloc(1000);
        final long left = memory.alloc(500);
        gpu.driver.controls().failAlways(CudaFunction.MEM_FREE, UNKNOWN_ERROR);
        memory.free(left);
        assertThat(memory.inspect().blocks())
                .containsExactlyInAnyOrder(
                        new Chunk(live, 1000, 1000, State.LIVE, 0), new Chunk(left, 500, 0, State.UNRETURNED, 0));
        gpu.driver.controls().clearFailures();
    }

    @Test
    void sizesThatAreNoSizesAreRefused() {
        assertThat(memory.alloc(0)).isZero();
        memory.free(0);
        assertThatExceptionOfType(InvalidSizeException.class).isThrownBy(() -> memory.alloc(-1));
        assertThatExceptionOfType(InvalidSizeException.class).isThrownBy(() -> memory.alloc(Long.MAX_VALUE));
        assertThat(memory.stats().withoutCounters()).isEqualTo(AllocatorStats.NONE);
    }

    @Test
    void exhaustionTellsWhatTheDeviceHasFree() {
        final long address = memory.alloc(CAPACITY / 2);
        assertThatExceptionOfType(OutOfMemoryException.class)
                .isThrownBy(() -> memory.alloc(CAPACITY))
                .satisfies(e -> {
                    assertThat(e.shortage().requested()).isEqualTo(CAPACITY);
                    assertThat(e.shortage().deviceFree()).isEqualTo(CAPACITY / 2);
                })
                .withMessageContaining("CUDA_ERROR_OUT_OF_MEMORY");
        assertThat(memory.stats().numFailedAllocs()).isEqualTo(1);
        memory.free(address);
        memory.free(memory.alloc(CAPACITY));
    }

    @Test
    void otherFailuresAreNotExhaustion() {
        gpu.driver.controls().failOnCall(CudaFunction.MEM_ALLOC, 1, UNKNOWN_ERROR);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(() -> memory.alloc(256));
        assertThat(memory.stats().withoutCounters()).isEqualTo(AllocatorStats.NONE);
    }

    @Test
    void badFreesAreRefused() {
        final long address = memory.alloc(1000);
        assertThatExceptionOfType(InteriorAddressException.class).isThrownBy(() -> memory.free(address + 999));
        assertThatExceptionOfType(ForeignAddressException.class).isThrownBy(() -> memory.free(address + 1000));
        memory.free(address);
        assertThatExceptionOfType(ForeignAddressException.class).isThrownBy(() -> memory.free(address));
    }

    @Test
    void memoryGoesBackOnlyAfterAllWorkOnIt() {
        final SyncStream stream = gpu.stream();
        final long address = memory.alloc(4096);
        gpu.driver.memory().memsetD8Async(0, address, (byte) 1, 4096, stream.handle());
        assertThat(gpu.driver.streams().streamQuery(0, stream.handle())).isFalse();
        memory.free(address);
        assertThat(gpu.driver.streams().streamQuery(0, stream.handle())).isTrue();
        stream.close();
    }

    @Test
    void whatTheDriverDoesNotTakeBackStaysHeldAndIsNotFreedAgain() {
        final long address = memory.alloc(4096);
        gpu.driver.controls().failAlways(CudaFunction.MEM_FREE, UNKNOWN_ERROR);
        memory.free(address);
        assertThat(memory.stats().bytesInUse()).isZero();
        assertThat(memory.stats().bytesHeld()).isEqualTo(4096);
        gpu.driver.controls().clearFailures();
        assertThatExceptionOfType(DoubleFreeException.class).isThrownBy(() -> memory.free(address));
        assertThat(memory.stats().bytesHeld()).isEqualTo(4096);
        memory.destroy();
        assertThat(gpu.driver.memory().memGetInfo(0).freeByteSize()).isEqualTo(CAPACITY);
    }

    @Test
    void closeNamesTheBytesThatTheDriverKeepsAndCanBeRepeated() {
        final DeviceMemory other = gpu.raw();
        other.alloc(4096);
        gpu.driver.controls().failAlways(CudaFunction.MEM_FREE, UNKNOWN_ERROR);
        assertThatExceptionOfType(DeviceException.class)
                .isThrownBy(() -> gpu.releaseAllocator(other))
                .withMessageContaining("has not taken back 4096 bytes");
        gpu.driver.controls().clearFailures();
        other.destroy();
        assertThat(gpu.driver.memory().memGetInfo(0).freeByteSize()).isEqualTo(CAPACITY);
    }

    @Test
    void memoryThatTheDriverDidNotTakeBackIsOfferedBeforeARequestFails() {
        memory.alloc(CAPACITY / 2);
        final long address = memory.alloc(CAPACITY / 2);
        gpu.driver.controls().failAlways(CudaFunction.MEM_FREE, UNKNOWN_ERROR);
        memory.free(address);
        gpu.driver.controls().clearFailures();
        memory.alloc(CAPACITY / 2);
    }

    @Test
    void whatTheDriverDoesNotTakeBackCanBeReturnedAgain() {
        final long address = memory.alloc(4096);
        assertThat(memory.returnAgain()).as("a live block").isZero();
        gpu.driver.controls().failAlways(CudaFunction.MEM_FREE, UNKNOWN_ERROR);
        memory.free(address);
        assertThat(memory.returnAgain()).isZero();
        assertThat(memory.stats().bytesHeld()).isEqualTo(4096);
        assertThat(memory.unreturnedBytes()).isEqualTo(4096);
        gpu.driver.controls().clearFailures();
        assertThat(memory.returnAgain()).isEqualTo(4096);
        assertThat(memory.stats().bytesHeld()).isZero();
    }

    @Test
    void aFailureOnTheWayBackIsTriedOnceMore() {
        final long address = memory.alloc(4096);
        gpu.driver.controls().failOnCall(CudaFunction.MEM_FREE, 1, CudaResult.ILLEGAL_ADDRESS);
        memory.free(address);
        assertThat(memory.stats().bytesHeld()).isZero();
    }

    @Test
    void closedPinnedMemoryGivesNoSegment() {
        final PinnedMemory pinned = new PinnedMemory(memory.device());
        final long address = pinned.alloc(256);
        assertThat(pinned.segment(address, 256).byteSize()).isEqualTo(256);
        pinned.destroy();
        assertThatExceptionOfType(AllocatorClosedException.class).isThrownBy(() -> pinned.segment(address, 256));
    }

    @Test
    void closeReturnsWhatIsLive() {
        final DeviceMemory other = gpu.raw();
        other.alloc(4096);
        gpu.releaseAllocator(other);
        assertThatExceptionOfType(AllocatorClosedException.class).isThrownBy(() -> other.alloc(1));
        assertThatExceptionOfType(AllocatorClosedException.class).isThrownBy(() -> other.free(1));
        assertThatExceptionOfType(AllocatorClosedException.class).isThrownBy(other::returnAgain);
        assertThatExceptionOfType(AllocatorClosedException.class).isThrownBy(other::stats);
        assertThat(gpu.driver.memory().memGetInfo(0).freeByteSize()).isEqualTo(CAPACITY);
    }

    @Test
    void theHostWritesPinnedMemory() {
        final PinnedMemory pinned = gpu.pinned();
        final long address = pinned.alloc(1024);
        pinned.segment(address, 1024).fill((byte) 0xCD);
        assertThat(pinned.segment(address, 1024).get(ValueLayout.JAVA_BYTE, 1023))
                .isEqualTo((byte) 0xCD);
        assertThat(pinned.segment(0, 0).byteSize()).isZero();
        assertThatExceptionOfType(InvalidSizeException.class).isThrownBy(() -> pinned.segment(0, 1));
        assertThatExceptionOfType(InvalidSizeException.class).isThrownBy(() -> pinned.segment(address, -1));
        gpu.releaseAllocator(pinned);
    }

    @Test
    void aThreadThatNeverTouchedCudaFrees() throws InterruptedException {
        final long address = memory.alloc(4096);
        final Thread thread = Thread.ofVirtual().start(() -> memory.free(address));
        thread.join();
        assertThat(memory.stats().bytesInUse()).isZero();
    }

    /** The work waits for the calling thread, which allocates: a second return must not stop it. */
    @Test
    void aReturnThatWaitsForTheDeviceDoesNotStopAllocations() throws InterruptedException {
        final long address = memory.alloc(1000);
        gpu.driver.controls().failAlways(CudaFunction.MEM_FREE, UNKNOWN_ERROR);
        memory.free(address);
        gpu.driver.controls().clearFailures();
        final CountDownLatch isWorking = new CountDownLatch(1);
        final CountDownLatch hasAllocated = new CountDownLatch(1);
        try (SyncStream stream = gpu.stream()) {
            gpu.driver.streams().launchHostFunction(0, stream.handle(), () -> {
                isWorking.countDown();
                await(hasAllocated);
            });
            final Thread returning = Thread.ofPlatform().daemon().start(memory::returnAgain);
            try {
                await(isWorking);
                assertTimeoutPreemptively(Duration.ofSeconds(10), () -> memory.alloc(2000));
            } finally {
                hasAllocated.countDown();
            }
            returning.join();
        }
        assertThat(memory.stats().bytesHeld()).isEqualTo(2000);
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
