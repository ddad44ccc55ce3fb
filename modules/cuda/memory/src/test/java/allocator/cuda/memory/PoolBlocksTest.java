package allocator.cuda.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class PoolBlocksTest {
    private static final long ADDRESS = 0x1000;

    private final PoolBlocks blocks = new PoolBlocks(new MemoryInfo(
            "Test", new MemoryLocation(DeviceType.GPU, 0, 0, MemoryType.DEFAULT), 256, AllocatorType.DEVICE));

    private final List<Long> returned = new ArrayList<>();

    private boolean takeBack(long address, @Nullable CudaSyncStream stream) {
        returned.add(address);
        return true;
    }

    private void allocate(long byteSize) {
        blocks.ensureRoom(2);
        blocks.allocated(ADDRESS, byteSize, null);
    }

    @Test
    void eachBlockIsListedWithItsState() {
        blocks.ensureRoom(1);
        blocks.allocated(-0x1000, 300, null);
        blocks.ensureRoom(1);
        blocks.allocated(0x3000, 200, null);
        allocate(100);
        blocks.free(0x3000, 1, (address, stream) -> false);
        assertThatExceptionOfType(DeviceException.class)
                .isThrownBy(() -> blocks.free(ADDRESS, 1, (address, stream) -> {
                    throw new DeviceException("failed", null);
                }));
        assertThat(blocks.inspect().regions()).isEmpty();
        assertThat(blocks.inspect().blocks())
                .containsExactly(
                        new Chunk(ADDRESS, 100, 0, State.UNRETURNED, 0),
                        new Chunk(0x3000, 200, 0, State.WAITING, 0),
                        new Chunk(-0x1000, 300, 300, State.LIVE, 0));
    }

    /** Memory that the driver took back and handed out again, though the free threw. */
    @Nested
    class HandedOutAgain {
        @Test
        void afterTheFreeItIsReturnedOnce() {
            allocate(256);
            assertThatExceptionOfType(DeviceException.class)
                    .isThrownBy(() -> blocks.free(ADDRESS, 1, (address, stream) -> {
                        throw new DeviceException("failed", null);
                    }));
            allocate(512);
            blocks.returnAgain(1, PoolBlocksTest.this::takeBack);
            assertThat(returned).isEmpty();
            blocks.returnAll(PoolBlocksTest.this::takeBack);
            assertThat(returned).containsExactly(ADDRESS);
        }

        @Test
        void aSecondReturnWaitsForAllocationsUnderWay() throws InterruptedException {
            allocate(256);
            assertThatExceptionOfType(DeviceException.class)
                    .isThrownBy(() -> blocks.free(ADDRESS, 1, (address, stream) -> {
                        throw new DeviceException("failed", null);
                    }));
            blocks.beginAllocation();
            final Thread returning =
                    Thread.ofPlatform().daemon().start(() -> blocks.returnAgain(1, PoolBlocksTest.this::takeBack));
            while (returning.getState() != Thread.State.TIMED_WAITING) {
                assertThat(returning.isAlive()).isTrue();
            }
            allocate(512);
            blocks.endAllocation();
            returning.join();
            assertThat(returned).isEmpty();
        }

        @Test
        void beforeTheFreeHasEndedItIsReturnedOnce() {
            allocate(256);
            assertThatExceptionOfType(DeviceException.class)
                    .isThrownBy(() -> blocks.free(ADDRESS, 2, (address, stream) -> {
                        allocate(512);
                        throw new DeviceException("failed", null);
                    }));
            assertThat(blocks.bytesInUse()).isEqualTo(512);
            blocks.returnAgain(1, PoolBlocksTest.this::takeBack);
            assertThat(returned).isEmpty();
            blocks.returnAll(PoolBlocksTest.this::takeBack);
            assertThat(returned).containsExactly(ADDRESS);
        }
    }

    @Nested
    class HandedOutDuringItsReturn {
        private final DeviceException failure = new DeviceException("failed", null);

        private boolean fail(long address, @Nullable CudaSyncStream stream) {
            throw failure;
        }

        private void assertThatNothingIsUnreturned() {
            assertThat(returned).containsExactly(ADDRESS);
            blocks.returnAll(PoolBlocksTest.this::takeBack);
            assertThat(returned).containsExactly(ADDRESS);
        }

        @Test
        void andFreedItIsNotReturnedAgain() {
            allocate(256);
            assertThatExceptionOfType(DeviceException.class)
                    .isThrownBy(() -> blocks.free(ADDRESS, 2, (address, stream) -> {
                        allocate(512);
                        blocks.free(ADDRESS, 2, PoolBlocksTest.this::takeBack);
                        throw failure;
                    }));
            assertThatNothingIsUnreturned();
        }

        @Test
        void andFreedInVainItIsReturnedOnceMore() {
            allocate(256);
            assertThatExceptionOfType(DeviceException.class)
                    .isThrownBy(() -> blocks.free(ADDRESS, 2, (address, stream) -> {
                        allocate(512);
                        assertThatExceptionOfType(DeviceException.class)
                                .isThrownBy(() -> blocks.free(ADDRESS, 2, this::fail));
                        throw failure;
                    }));
            blocks.returnAgain(1, PoolBlocksTest.this::takeBack);
            assertThatNothingIsUnreturned();
        }

        @Test
        void andRolledBackItIsNotReturnedAgain() {
            allocate(256);
            assertThatExceptionOfType(DeviceException.class).isThrownBy(() -> blocks.free(ADDRESS, 2, this::fail));
            blocks.rollBack(failure, ADDRESS, 512, null, PoolBlocksTest.this::takeBack);
            assertThatNothingIsUnreturned();
        }
    }

    /** For each allocation only a few steps, where a scan of what is unreturned would take minutes. */
    @Test
    void unreturnedBlocksDoNotSlowAllocationsDown() {
        final int count = 200_000;
        final DeviceException failure = new DeviceException("failed", null);
        assertTimeoutPreemptively(Duration.ofSeconds(20), () -> {
            for (long block = 1; block <= count; block++) {
                final long address = block * 256;
                blocks.ensureRoom(1);
                blocks.allocated(address, 256, null);
                assertThatExceptionOfType(DeviceException.class)
                        .isThrownBy(() -> blocks.free(address, 1, (freed, stream) -> {
                            throw failure;
                        }));
            }
        });
        blocks.returnAll(this::takeBack);
        assertThat(returned).hasSize(count);
    }

    /** Between the look at the stream and the entry of the block as waiting. */
    @Test
    void aBlockWhoseStreamEndsDuringItsFreeIsGivenBack() {
        try (SimulatedGpu gpu =
                SimulatedGpu.of(SimulatedCudaDriver.builder().withDevices(1).withLaggingStreams())) {
            final CudaSyncStream stream = (CudaSyncStream) gpu.stream();
            blocks.ensureRoom(1);
            blocks.allocated(ADDRESS, 256, stream);
            blocks.free(ADDRESS, 1, (address, ofBlock) -> {
                if (stream.hasEnded()) {
                    return takeBack(address, ofBlock);
                }
                stream.close();
                blocks.returnWaiting(1, this::takeBack);
                return false;
            });
            assertThat(returned).containsExactly(ADDRESS);
        }
    }

    /** For each block only a few steps, where a scan of all would take the time of a close in minutes. */
    @Test
    void theCloseOfManyBlocksOfAFailingDriverTakesLinearTime() {
        final int count = 200_000;
        for (long block = 1; block <= count; block++) {
            blocks.ensureRoom(1);
            blocks.allocated(block * 256, 256, null);
        }
        final DeviceException failure = new DeviceException("failed", null);
        assertTimeoutPreemptively(
                Duration.ofSeconds(20),
                () -> assertThatExceptionOfType(DeviceException.class)
                        .isThrownBy(() -> blocks.returnAll((address, stream) -> {
                            throw failure;
                        })));
        blocks.returnAll(this::takeBack);
        assertThat(returned).hasSize(count);
    }
}
