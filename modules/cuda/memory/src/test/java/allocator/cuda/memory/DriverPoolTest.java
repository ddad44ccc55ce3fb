package allocator.cuda.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

// One class, since its groups share the simulated device and the pool over it.
class DriverPoolTest {
    private static final int UNKNOWN_ERROR = 999;
    private static final long MIB = 1 << 20;
    private static final long PIECE = 32 * MIB;
    private static final long CAPACITY = 4 * PIECE;

    private final SimulatedGpu gpu = SimulatedGpu.of(
            SimulatedCudaDriver.builder().withDevices(2).withMemory(CAPACITY).withLaggingStreams());
    private DriverPool pool = gpu.pool();

    @AfterEach
    void close() {
        gpu.releaseAllocator(pool);
        gpu.close();
    }

    private void reopen(String... keysAndValues) {
        gpu.releaseAllocator(pool);
        pool = gpu.pool(keysAndValues);
    }

    @Test
    void memoryWithoutAStreamCanBeUsedAtOnceByAny() {
        try (SyncStream stream = gpu.stream()) {
            final long address = pool.alloc(4096);
            gpu.driver.memory().memsetD8Async(0, address, (byte) 1, 4096, stream.handle());
            stream.flush();
            pool.free(address);
        }
    }

    @Test
    void memoryOfAStreamIsFreedWhileWorkIsQueued() {
        try (SyncStream stream = gpu.stream()) {
            final long address = pool.allocOnStream(4096, stream);
            gpu.driver.memory().memsetD8Async(0, address, (byte) 1, 4096, stream.handle());
            pool.free(address);
            assertThat(pool.stats().bytesInUse()).isZero();
            assertThat(pool.allocOnStream(4096, stream)).isEqualTo(address);
            pool.free(address);
        }
    }

    @Test
    void memoryFreedOnOneStreamIsNotUsedByAnotherBeforeItIsReady() {
        final Random random = new Random(42);
        try (SyncStream first = gpu.stream();
                SyncStream second = gpu.stream()) {
            final List<Long> live = new ArrayList<>();
            for (int step = 0; step < 2000; step++) {
                if (live.isEmpty() || random.nextInt(100) < 55) {
                    final SyncStream stream = random.nextBoolean() ? first : second;
                    final long byteSize = 1 + random.nextLong(100_000);
                    final long address = pool.allocOnStream(byteSize, stream);
                    gpu.driver.memory().memsetD8Async(0, address, (byte) step, byteSize, stream.handle());
                    live.add(address);
                } else {
                    pool.free(live.remove(random.nextInt(live.size())));
                }
                if (random.nextInt(50) == 0) {
                    gpu.driver.controls().advance(first.handle());
                }
            }
            live.forEach(pool::free);
        }
        assertThat(gpu.driver.controls().hazards()).isEmpty();
        assertThat(pool.stats().bytesInUse()).isZero();
    }

    @Test
    void countersAreTrue() {
        try (SyncStream stream = gpu.stream()) {
            final long first = pool.allocOnStream(1000, stream);
            final long second = pool.reserve(5000);
            pool.free(first);
            final AllocatorStats stats = pool.stats().withoutCounters();
            assertThat(stats)
                    .isEqualTo(new AllocatorStats.Builder()
                            .inUse(5000, 5000, 6000)
                            .held(PIECE, PIECE)
                            .free(PIECE - 5000, 0)
                            .calls(2, 1, 0, 5000)
                            .build());
            pool.free(second);
        }
    }

    @Test
    void liveBlocksAreListedWithTheirStreams() {
        try (SyncStream stream = gpu.stream()) {
            final long first = pool.allocOnStream(1000, stream);
            final long second = pool.reserve(5000);
            pool.free(pool.alloc(70));
            assertThat(pool.inspect().blocks())
                    .containsExactlyInAnyOrder(
                            new Chunk(first, 1000, 1000, State.LIVE, stream.id()),
                            new Chunk(second, 5000, 5000, State.LIVE, 0));
            pool.free(first);
            pool.free(second);
            assertThat(pool.inspect()).isEqualTo(AllocatorSnapshot.EMPTY);
        }
    }

    /** Four blocks of an eighth each, every second one freed: no free block is larger than an eighth. */
    @Test
    void whatTheDriverDoesNotReportIsNotMaintained() {
        final List<Long> blocks = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            blocks.add(pool.alloc(PIECE / 8));
        }
        for (int i = 0; i < 8; i += 2) {
            pool.free(blocks.get(i));
        }
        pool.shrink();
        final AllocatorStats stats = pool.stats();
        assertThat(stats.bytesHeld()).isEqualTo(PIECE);
        assertThat(stats.freeBytes()).isEqualTo(PIECE / 2);
        assertThat(stats.largestFreeChunk()).isZero();
        assertThat(stats.numArenaExtensions()).isZero();
        assertThat(stats.numArenaShrinkages()).isEqualTo(1);
        for (int i = 1; i < 8; i += 2) {
            pool.free(blocks.get(i));
        }
    }

    @Test
    void freedMemoryIsKeptWhenTheDeviceIsSynchronized() {
        pool.free(pool.alloc(MIB));
        gpu.driver.devices().ctxSynchronize(0);
        assertThat(pool.stats().bytesHeld()).isEqualTo(PIECE);
    }

    @Test
    void aReleaseThresholdOfZeroGivesFreedMemoryBack() {
        reopen("arena.cuda_mempool_release_threshold", "0");
        pool.free(pool.alloc(MIB));
        gpu.driver.devices().ctxSynchronize(0);
        assertThat(pool.stats().bytesHeld()).isZero();
        assertThat(pool.effectiveOptions().value("arena.cuda_mempool_release_threshold"))
                .isEqualTo("0");
    }

    @Test
    void shrinkReturnsWhatIsFreeAndCountsOnce() {
        pool.free(pool.alloc(MIB));
        assertThat(pool.shrink()).isEqualTo(new ShrinkReport(PIECE, 0, 0, 0, 0));
        assertThat(pool.shrink()).isEqualTo(new ShrinkReport(0, 0, 0, 0, 0));
        assertThat(pool.stats().numArenaShrinkages()).isEqualTo(2);
        pool.free(pool.alloc(MIB));
    }

    @Test
    void shrinkKeepsWhatTheDeviceMayStillUse() {
        try (SyncStream stream = gpu.stream()) {
            final long address = pool.allocOnStream(MIB, stream);
            gpu.driver.memory().memsetD8Async(0, address, (byte) 1, MIB, stream.handle());
            pool.free(address);
            assertThat(pool.shrink().bytesReleased()).isZero();
            stream.onSessionRunEnd();
            assertThat(pool.shrink().bytesReleased()).isEqualTo(PIECE);
        }
    }

    @Test
    void shrinkKeepsAsMuchAsIsAskedFor() {
        reopen("arena.cuda_mempool_bytes_to_keep_on_shrink", Long.toString(PIECE));
        final long first = pool.alloc(PIECE);
        final long second = pool.alloc(PIECE);
        pool.free(first);
        pool.free(second);
        assertThat(pool.shrink())
                .isEqualTo(new ShrinkReport(
                        PIECE,
                        0,
                        PIECE,
                        0,
                        0,
                        List.of(new ShrinkReport.Held(
                                PIECE,
                                0,
                                "free memory that queued work may still use, or that shares the driver's granules"
                                        + " with live blocks, and"
                                        + " arena.cuda_mempool_bytes_to_keep_on_shrink=" + PIECE
                                        + " keeps the rest"))));
    }

    @Test
    void exhaustionSynchronizesAndAsksOnceMore() {
        reopen("arena.cuda_mempool_release_threshold", "0");
        try (SyncStream first = gpu.stream()) {
            final DriverPool other = gpu.pool("arena.exclusive", "1");
            final long address = other.allocOnStream(CAPACITY, first);
            gpu.driver.memory().memsetD8Async(0, address, (byte) 1, CAPACITY, first.handle());
            other.free(address);
            gpu.releaseAllocator(other);
            final long all = pool.alloc(CAPACITY);
            final long syncs = gpu.driver.controls().calls(CudaFunction.CTX_SYNCHRONIZE);
            assertThatExceptionOfType(OutOfMemoryException.class)
                    .isThrownBy(() -> pool.alloc(MIB))
                    .satisfies(e -> {
                        assertThat(e.shortage().requested()).isEqualTo(MIB);
                        assertThat(e.shortage().inUse()).isEqualTo(CAPACITY);
                        assertThat(e.shortage().held()).isEqualTo(CAPACITY);
                        assertThat(e.shortage().deviceFree()).isZero();
                    });
            assertThat(gpu.driver.controls().calls(CudaFunction.CTX_SYNCHRONIZE))
                    .isEqualTo(syncs + 1);
            assertThat(pool.stats().numFailedAllocs()).isEqualTo(1);
            pool.free(all);
            pool.free(pool.alloc(MIB));
        }
    }

    @Test
    void aRequestBeyondTheDeviceDoesNotStallIt() {
        final long syncs = gpu.driver.controls().calls(CudaFunction.CTX_SYNCHRONIZE);
        assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> pool.alloc(2 * CAPACITY));
        assertThat(gpu.driver.controls().calls(CudaFunction.CTX_SYNCHRONIZE)).isEqualTo(syncs);
    }

    @Test
    void theLimitIsRoundedUpToAPieceAndNeverPassed() {
        reopen("arena.max_mem", "1000");
        assertThat(pool.stats().limit()).isEqualTo(PIECE);
        assertThat(pool.effectiveOptions().value("arena.max_mem")).isEqualTo(Long.toString(PIECE));
        assertThat(pool.effectiveOptions().origin("arena.max_mem")).isEqualTo("test");
        assertThat(pool.stats().bytesHeld()).isZero();
        final long half = pool.alloc(PIECE / 2);
        final long rest = pool.alloc(PIECE / 2);
        assertThatExceptionOfType(OutOfMemoryException.class)
                .isThrownBy(() -> pool.alloc(1))
                .satisfies(e -> assertThat(e.shortage().limit()).isEqualTo(PIECE));
        pool.free(half);
        assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> pool.alloc(PIECE / 2 + 1));
        pool.free(pool.alloc(PIECE / 2));
        pool.free(rest);
        pool.free(pool.alloc(PIECE));
        assertThat(pool.stats().peakBytesHeld()).isEqualTo(PIECE);
        assertThat(pool.stats().numFailedAllocs()).isEqualTo(2);
    }

    @Test
    void aLimitIsPassedByOneExtensionAtMostIfTheDriverKeepsWhatWasTooMuch() {
        reopen("arena.max_mem", Long.toString(PIECE));
        final long first = pool.alloc(PIECE / 8 * 3);
        final long second = pool.alloc(PIECE / 4);
        pool.free(pool.alloc(PIECE / 8 * 3));
        pool.free(first);
        gpu.driver.controls().failAlways(CudaFunction.MEM_FREE_ASYNC, CudaResult.ILLEGAL_ADDRESS);
        for (int i = 0; i < 5; i++) {
            assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> pool.alloc(PIECE / 2));
        }
        assertThat(pool.stats().bytesHeld()).isEqualTo(2 * PIECE);
        gpu.driver.controls().clearFailures();
        pool.free(second);
        pool.free(pool.alloc(PIECE));
        assertThat(pool.stats().bytesHeld()).isEqualTo(PIECE);
    }

    @Test
    void everyLimitIsRoundedUpToTheGranularityAsFarAsANumberHoldsIt() {
        LongStream.range(0, Long.SIZE)
                .flatMap(bit -> LongStream.rangeClosed(-2, 2).map(by -> (1L << bit) + by))
                .filter(bytes -> bytes > 0 && bytes < Long.MAX_VALUE)
                .distinct()
                .filter(bytes -> bytes > 1L << 60 || bytes < 4 * PIECE)
                .forEach(bytes -> {
                    reopen("arena.max_mem", Long.toString(bytes));
                    final long pieces = Math.ceilDiv(bytes, PIECE);
                    assertThat(pool.stats().limit())
                            .isEqualTo(pieces > Long.MAX_VALUE / PIECE ? Long.MAX_VALUE : pieces * PIECE);
                });
    }

    @Test
    void underALimitQueuedFreesAreWaitedFor() {
        reopen("arena.max_mem", Long.toString(PIECE));
        try (SyncStream first = gpu.stream();
                SyncStream second = gpu.stream()) {
            final long address = pool.allocOnStream(PIECE, first);
            gpu.driver.memory().memsetD8Async(0, address, (byte) 1, PIECE, first.handle());
            pool.free(address);
            pool.free(pool.allocOnStream(PIECE, second));
        }
    }

    @Test
    void badFreesAreToldApart() {
        final long address = pool.alloc(1000);
        assertThatExceptionOfType(InteriorAddressException.class).isThrownBy(() -> pool.free(address + 1));
        assertThatExceptionOfType(ForeignAddressException.class).isThrownBy(() -> pool.free(address + 1000));
        pool.free(address);
        assertThatExceptionOfType(ForeignAddressException.class).isThrownBy(() -> pool.free(address));
        assertThatExceptionOfType(InvalidSizeException.class).isThrownBy(() -> pool.alloc(-1));
        assertThatExceptionOfType(InvalidSizeException.class).isThrownBy(() -> pool.alloc(Long.MAX_VALUE));
        assertThat(pool.alloc(0)).isZero();
        pool.free(0);
    }

    @Test
    void streamsOfOthersAreRefused() {
        try (SyncStream elsewhere = gpu.createSyncStream(gpu.device(1))) {
            assertThatIllegalArgumentException().isThrownBy(() -> pool.allocOnStream(1, elsewhere));
        }
        final SyncStream closed = gpu.stream();
        closed.close();
        assertThatIllegalStateException().isThrownBy(() -> pool.allocOnStream(1, closed));
    }

    @Test
    void memoryOutlivesItsStream() {
        final SyncStream stream = gpu.stream();
        final long address = pool.allocOnStream(MIB, stream);
        gpu.driver.memory().memsetD8Async(0, address, (byte) 1, MIB, stream.handle());
        stream.close();
        pool.free(address);
        assertThat(pool.alloc(MIB)).isEqualTo(address);
        pool.free(address);
    }

    @Test
    void memoryOfAStreamThatCannotBeDrainedIsSetAside() {
        final SyncStream stream = gpu.stream();
        final long address = pool.allocOnStream(MIB, stream);
        gpu.driver.memory().memsetD8Async(0, address, (byte) 1, MIB, stream.handle());
        gpu.driver.controls().failAlways(CudaFunction.STREAM_SYNCHRONIZE, UNKNOWN_ERROR);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(stream::close);
        gpu.driver.controls().clearFailures();
        pool.free(address);
        assertThat(pool.stats().bytesInUse()).isZero();
        final long other = pool.alloc(MIB);
        assertThat(other).isNotEqualTo(address);
        pool.free(other);
    }

    @Test
    void aFailedFreeIsTriedOnceMore() {
        final long address = pool.alloc(MIB);
        gpu.driver.controls().failOnCall(CudaFunction.MEM_FREE_ASYNC, 1, UNKNOWN_ERROR);
        pool.free(address);
        gpu.driver.controls().failOnCall(CudaFunction.STREAM_SYNCHRONIZE, 1, UNKNOWN_ERROR);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(() -> pool.alloc(MIB));
        assertThat(pool.stats().numAllocs()).isEqualTo(1);
        assertThat(pool.stats().bytesInUse()).isZero();
    }

    @Test
    void closeCompletesQueuedFreesThoughStreamsAreGone() {
        final DriverPool other = gpu.pool("arena.exclusive", "1");
        final SyncStream first = gpu.stream();
        final SyncStream second = gpu.stream();
        for (SyncStream stream : List.of(first, second)) {
            final long address = other.allocOnStream(MIB, stream);
            gpu.driver.memory().memsetD8Async(0, address, (byte) 1, MIB, stream.handle());
            other.allocOnStream(MIB, stream);
            other.free(address);
        }
        first.close();
        gpu.releaseAllocator(other);
        second.close();
        assertThatExceptionOfType(AllocatorClosedException.class).isThrownBy(() -> other.alloc(1));
        assertThatExceptionOfType(AllocatorClosedException.class).isThrownBy(other::shrink);
        assertThat(gpu.driver.memory().memGetInfo(0).freeByteSize()).isEqualTo(CAPACITY);
    }

    @Test
    void aPoolThatCannotBeMadeLeavesNothing() {
        for (CudaFunction function : List.of(
                CudaFunction.STREAM_CREATE,
                CudaFunction.MEM_POOL_CREATE,
                CudaFunction.MEM_POOL_SET_ATTRIBUTE,
                CudaFunction.MEM_ALLOC_FROM_POOL_ASYNC,
                CudaFunction.MEM_POOL_GET_ATTRIBUTE)) {
            gpu.driver.controls().failOnCall(function, 1, UNKNOWN_ERROR);
            assertThatExceptionOfType(DeviceException.class)
                    .as(function.toString())
                    .isThrownBy(() -> gpu.pool("arena.exclusive", "1", "arena.max_mem", "1"));
        }
        gpu.driver.controls().failOnCall(CudaFunction.MEM_POOL_CREATE, 1, CudaResult.OUT_OF_MEMORY);
        assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> gpu.pool("arena.exclusive", "1"));
    }

    /** Memory that the driver does not take back. */
    @Nested
    class Unreturned {
        private long address;

        @BeforeEach
        void freeInVain() {
            address = pool.alloc(MIB);
            gpu.driver.controls().failAlways(CudaFunction.MEM_FREE_ASYNC, UNKNOWN_ERROR);
            pool.free(address);
            assertThat(pool.stats().bytesInUse()).isZero();
            assertThat(pool.stats().bytesHeld()).isEqualTo(PIECE);
        }

        @Test
        void isNotFreedAgain() {
            assertThatExceptionOfType(DoubleFreeException.class).isThrownBy(() -> pool.free(address));
            gpu.driver.controls().clearFailures();
            assertThatExceptionOfType(DoubleFreeException.class).isThrownBy(() -> pool.free(address));
            assertThat(pool.stats().bytesHeld()).isEqualTo(PIECE);
            pool.shrink();
            assertThat(pool.stats().bytesHeld()).isZero();
        }

        @Test
        void goesBackWithTheNextShrink() {
            assertThat(pool.shrink().bytesReleased()).isZero();
            gpu.driver.controls().clearFailures();
            assertThat(pool.shrink().bytesReleased()).isEqualTo(PIECE);
            assertThatExceptionOfType(ForeignAddressException.class).isThrownBy(() -> pool.free(address));
        }

        @Test
        void goesBackWhenThePoolIsClosed() {
            gpu.driver.controls().clearFailures();
            reopen();
            assertThat(gpu.driver.memory().memGetInfo(0).freeByteSize()).isEqualTo(CAPACITY);
        }

        @Test
        void goesBackWhenTheFactoryIsClosed() {
            assertThatExceptionOfType(DeviceException.class).isThrownBy(() -> gpu.releaseAllocator(pool));
            gpu.driver.controls().clearFailures();
            pool = gpu.pool();
        }

        @Test
        void waitsForItsStream() {
            gpu.driver.controls().clearFailures();
            try (SyncStream stream = gpu.stream()) {
                final long used = pool.allocOnStream(MIB, stream);
                gpu.driver.memory().memsetD8Async(0, used, (byte) 1, MIB, stream.handle());
                gpu.driver.controls().failAlways(CudaFunction.MEM_FREE_ASYNC, UNKNOWN_ERROR);
                pool.free(used);
                gpu.driver.controls().clearFailures();
                pool.shrink(); // frees behind the work of the stream; anything else is a hazard
                stream.flush();
                assertThat(pool.shrink().bytesHeld()).isZero();
            }
        }
    }

    @Test
    void anAllocationWhoseFailureCannotBeUndoneLosesNothing() {
        gpu.driver.controls().failAlways(CudaFunction.STREAM_SYNCHRONIZE, UNKNOWN_ERROR);
        gpu.driver.controls().failAlways(CudaFunction.MEM_FREE_ASYNC, UNKNOWN_ERROR);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(() -> pool.alloc(MIB));
        gpu.driver.controls().clearFailures();
        assertThat(pool.stats().bytesInUse()).isZero();
        assertThat(pool.shrink()).isEqualTo(new ShrinkReport(PIECE, 0, 0, 0, 0));
    }

    @Test
    void memoryOfAStreamThatIsDrainedAtASecondCloseGoesBackWithAShrink() {
        final SyncStream stream = gpu.stream();
        final long address = pool.allocOnStream(MIB, stream);
        gpu.driver.memory().memsetD8Async(0, address, (byte) 1, MIB, stream.handle());
        gpu.driver.controls().failAlways(CudaFunction.STREAM_SYNCHRONIZE, UNKNOWN_ERROR);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(stream::close);
        gpu.driver.controls().clearFailures();
        pool.free(address);
        assertThatExceptionOfType(DoubleFreeException.class).isThrownBy(() -> pool.free(address));
        assertThat(pool.shrink().bytesHeld()).isEqualTo(PIECE);
        stream.close();
        assertThat(pool.shrink().bytesHeld()).isZero();
    }
}
