package allocator.cuda.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.driver.CudaDriver;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.DataTransfer;
import allocator.spi.DeviceType;
import allocator.spi.EpFactory;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryRange;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/**
 * ONNX Runtime's forty tests of its CUDA plug-in's arenas, with null replaced by exceptions, and the faults that it has
 * and this provider has not.
 */
abstract class CudaArenaContract {
    static final long MIB = 1 << 20;

    private CudaDriver driver;
    private EpFactory factory;
    private MemoryInfo deviceMemory;
    private MemoryInfo pinnedMemory;
    private Allocator allocator;
    private final List<Allocator> others = new ArrayList<>();

    abstract CudaDriver openDriver();

    void closeDriver() {}

    @BeforeEach
    void open() {
        driver = openDriver();
        factory = new CudaArenaFactory(() -> new CudaAvailability.Available(driver));
        final var device = factory.discoverDevices().devices().getFirst();
        deviceMemory = device.defaultMemory().orElseThrow();
        pinnedMemory = device.hostAccessibleMemory().orElseThrow();
    }

    @AfterEach
    void close() {
        if (factory == null) {
            return; // skipped
        }
        if (allocator != null) {
            factory.releaseAllocator(allocator);
        }
        others.forEach(factory::releaseAllocator);
        factory.close();
        closeDriver();
    }

    /** Replaces the shared allocator of a memory by one with these settings. */
    private Allocator replace(MemoryInfo info, String... keysAndValues) {
        final Map<String, String> options = new LinkedHashMap<>();
        for (int i = 0; i < keysAndValues.length; i += 2) {
            options.put(keysAndValues[i], keysAndValues[i + 1]);
        }
        final Allocator replaced = allocator;
        allocator = null;
        if (replaced != null) {
            factory.releaseAllocator(replaced);
        }
        allocator = factory.createAllocator(info, AllocatorOptions.of(options));
        return allocator;
    }

    private Allocator device(String... keysAndValues) {
        return replace(deviceMemory, keysAndValues);
    }

    private Allocator pinned(String... keysAndValues) {
        return replace(pinnedMemory, keysAndValues);
    }

    private Allocator pool(String... keysAndValues) {
        final List<String> all = new ArrayList<>(List.of("arena.use_cuda_mempool", "1"));
        all.addAll(Arrays.asList(keysAndValues));
        return replace(deviceMemory, all.toArray(new String[0]));
    }

    private void fill(long address, int value, long byteSize) {
        driver.memory().memsetD8(0, address, (byte) value, byteSize);
        driver.devices().ctxSynchronize(0);
    }

    private void assertFilled(MemoryInfo info, long address, int value, long byteSize) {
        final HostAccessibleAllocator staging =
                (HostAccessibleAllocator) factory.createAllocator(pinnedMemory, AllocatorOptions.EMPTY);
        final DataTransfer transfer = factory.dataTransfer().orElseThrow();
        final long copy = staging.alloc(byteSize);
        transfer.copy(new MemoryRange(info, address, byteSize), new MemoryRange(pinnedMemory, copy, byteSize), null);
        final byte[] expected = new byte[(int) byteSize];
        Arrays.fill(expected, (byte) value);
        assertThat(staging.segment(copy, byteSize).toArray(ValueLayout.JAVA_BYTE))
                .isEqualTo(expected);
        staging.free(copy);
        factory.releaseAllocator(staging);
    }

    private static ShrinkReport shrink(Allocator allocator) {
        return ((ShrinkableAllocator) allocator).shrink();
    }

    @Nested
    class Device {
        @Test
        void isArena() {
            final Allocator arena = device();
            final long address = arena.alloc(1024);
            assertThat(arena.stats().toMap()).containsKeys("NumAllocs", "NumArenaExtensions");
            assertThat(arena.stats().numArenaExtensions()).isPositive();
            arena.free(address);
        }

        @Test
        void cudaMemoryIsValid() {
            final Allocator arena = device();
            final long address = arena.alloc(4096);
            fill(address, 0xAB, 4096);
            assertFilled(deviceMemory, address, 0xAB, 4096);
            arena.free(address);
        }

        @Test
        void arenaReusesMemory() {
            final Allocator arena = device();
            arena.free(arena.alloc(512));
            final long extensions = arena.stats().numArenaExtensions();
            arena.free(arena.alloc(512));
            assertThat(arena.stats().numArenaExtensions()).isEqualTo(extensions);
        }

        @Test
        void multipleAllocations() {
            final Allocator arena = device();
            final List<Long> addresses = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                addresses.add(arena.alloc(2048));
                fill(addresses.get(i), i + 1, 2048);
            }
            for (int i = 0; i < 10; i++) {
                assertFilled(deviceMemory, addresses.get(i), i + 1, 2048);
            }
            assertThat(arena.stats().numAllocs()).isGreaterThanOrEqualTo(10);
            addresses.forEach(arena::free);
        }

        @Test
        void zeroSizeAlloc() {
            assertThat(device().alloc(0)).isZero();
            allocator.free(0);
        }

        @Test
        void largeAllocation() {
            final Allocator arena = device();
            final long address = arena.alloc(32 * MIB);
            fill(address, 1, 32 * MIB);
            arena.free(address);
        }

        @Test
        void statsTrackBytesInUse() {
            final Allocator arena = device();
            final long before = arena.stats().bytesInUse();
            final long address = arena.alloc(4096);
            assertThat(arena.stats().bytesInUse()).isGreaterThan(before);
            arena.free(address);
            assertThat(arena.stats().bytesInUse()).isLessThanOrEqualTo(before);
        }

        @Test
        void replaceWithCustomConfig() {
            final Allocator arena = device("arena.initial_chunk_size_bytes", "25600");
            arena.free(arena.alloc(256));
            assertThat(arena.stats().bytesHeld()).isEqualTo(25600);
        }

        @Test
        void freeNullptrIsSafe() {
            device().free(0);
        }

        @Test
        void invalidConfigIsRejected() {
            assertThatExceptionOfType(InvalidOptionException.class)
                    .isThrownBy(() -> device("arena.initial_chunk_size_bytes", "not_a_number"))
                    .withMessageContainingAll("arena.initial_chunk_size_bytes", "not_a_number");
        }

        @Test
        void negativeConfigIsRejected() {
            assertThatExceptionOfType(InvalidOptionException.class)
                    .isThrownBy(() -> device("arena.initial_chunk_size_bytes", "-100"));
        }

        @Test
        void maxMemZeroTreatedAsUnlimited() {
            final Allocator arena = device("arena.max_mem", "0");
            arena.free(arena.alloc(1024));
            assertThat(arena.stats().limit()).isEqualTo(AllocatorStats.UNLIMITED);
        }

        @Test
        void reserveRespectsBudget() {
            final Allocator arena = device("arena.max_mem", "65536", "arena.initial_chunk_size_bytes", "4096");
            assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> arena.reserve(131072));
        }

        @Test
        void sameAsRequestedStrategy() {
            final Allocator arena = device("arena.extend_strategy", "1", "arena.initial_chunk_size_bytes", "4096");
            final long address = arena.alloc(2048);
            assertThat(arena.stats().numArenaExtensions()).isPositive();
            arena.free(address);
        }

        @Test
        void maxDeadBytesConfig() {
            final Allocator arena = device("arena.max_dead_bytes_per_chunk", "1024");
            final long first = arena.alloc(512);
            final long second = arena.alloc(256);
            arena.free(first);
            arena.free(second);
        }

        @Test
        void initialGrowthChunkSizeConfig() {
            final Allocator arena = device("arena.initial_growth_chunk_size_bytes", "8192");
            arena.free(arena.alloc(256));
            shrink(arena);
            arena.free(arena.alloc(256));
            assertThat(arena.stats().bytesHeld()).isEqualTo(8192);
        }

        @Test
        void maxPowerOfTwoExtendConfig() {
            final Allocator arena = device("arena.max_power_of_two_extend_bytes", "1048576");
            arena.free(arena.alloc(2048));
        }

        @Test
        void combinedConfig() {
            final Allocator arena = device(
                    "arena.extend_strategy", "1",
                    "arena.initial_chunk_size_bytes", "8192",
                    "arena.max_dead_bytes_per_chunk", "512",
                    "arena.max_mem", "2097152");
            arena.free(arena.alloc(4096));
            assertThat(arena.stats().numAllocs()).isPositive();
        }

        @Test
        void chunkSplitting() {
            final Allocator arena =
                    device("arena.initial_chunk_size_bytes", "65536", "arena.max_dead_bytes_per_chunk", "256");
            final long first = arena.alloc(256);
            final long second = arena.alloc(256);
            assertThat(arena.stats().numArenaExtensions()).isEqualTo(1);
            arena.free(first);
            arena.free(second);
        }

        @Test
        void chunkCoalescing() {
            final Allocator arena = device("arena.initial_chunk_size_bytes", "16384");
            final long first = arena.alloc(4096);
            final long second = arena.alloc(4096);
            arena.free(first);
            arena.free(second);
            arena.free(arena.alloc(8192));
            assertThat(arena.stats().numArenaExtensions()).isEqualTo(1);
        }

        @Test
        void reserveWithinBudget() {
            final Allocator arena = device("arena.max_mem", "2097152");
            final long address = arena.reserve(4096);
            assertThat(arena.stats().bytesInUse()).isPositive();
            assertThat(arena.stats().numReserves()).isPositive();
            arena.free(address);
            assertThat(arena.stats().bytesInUse()).isZero();
        }

        @Test
        void maxMemExhaustion() {
            final Allocator arena = device("arena.max_mem", "65536", "arena.initial_chunk_size_bytes", "65536");
            final long address = arena.alloc(65536);
            assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> arena.alloc(256));
            arena.free(address);
        }

        @Test
        void invalidMaxMemIsRejected() {
            assertThatExceptionOfType(InvalidOptionException.class).isThrownBy(() -> device("arena.max_mem", "abc"));
        }

        @Test
        void allStatsKeysPresent() {
            assertThat(device().stats().toMap())
                    .containsKeys(
                            "Limit",
                            "InUse",
                            "TotalAllocated",
                            "MaxInUse",
                            "NumAllocs",
                            "NumReserves",
                            "NumArenaExtensions",
                            "NumArenaShrinkages",
                            "MaxAllocSize");
        }

        @Test
        void shrinkFreesUnusedRegions() {
            final Allocator arena = device();
            arena.free(arena.alloc(4096));
            final long held = arena.stats().bytesHeld();
            assertThat(shrink(arena).bytesReleased()).isEqualTo(held);
            assertThat(arena.stats().bytesHeld()).isZero();
            assertThat(arena.stats().numArenaShrinkages()).isPositive();
        }

        @Test
        void shrinkKeepsLiveRegions() {
            final Allocator arena = device();
            final long address = arena.alloc(4096);
            final long held = arena.stats().bytesHeld();
            assertThat(shrink(arena).regionsInUse()).isEqualTo(1);
            assertThat(arena.stats().bytesHeld()).isEqualTo(held);
            arena.free(address);
        }
    }

    @Nested
    class Pinned {
        @Test
        void isArena() {
            final HostAccessibleAllocator arena = (HostAccessibleAllocator) pinned();
            final long address = arena.alloc(1024);
            arena.segment(address, 1024).fill((byte) 0xCD);
            assertThat(arena.segment(address, 1024).get(ValueLayout.JAVA_BYTE, 1023))
                    .isEqualTo((byte) 0xCD);
            assertThat(arena.stats().numArenaExtensions()).isPositive();
            assertThat(arena).isNotInstanceOf(StreamAwareAllocator.class);
            arena.free(address);
        }

        @Test
        void customConfig() {
            final Allocator arena = pinned("arena.initial_chunk_size_bytes", "16384");
            arena.free(arena.alloc(256));
            assertThat(arena.stats().bytesHeld()).isEqualTo(16384);
        }

        @Test
        void reuse() {
            final Allocator arena = pinned();
            arena.free(arena.alloc(512));
            final long extensions = arena.stats().numArenaExtensions();
            arena.free(arena.alloc(512));
            assertThat(arena.stats().numArenaExtensions()).isEqualTo(extensions);
        }

        @Test
        void shrinkFreesUnusedRegions() {
            final Allocator arena = pinned();
            arena.free(arena.alloc(4096));
            shrink(arena);
            assertThat(arena.stats().bytesHeld()).isZero();
            assertThat(arena.stats().numArenaShrinkages()).isPositive();
        }
    }

    @Nested
    class Mempool {
        @Test
        void basicAllocFree() {
            final Allocator pool = pool();
            final long address = pool.alloc(4096);
            fill(address, 0x11, 4096);
            assertFilled(deviceMemory, address, 0x11, 4096);
            pool.free(address);
        }

        @Test
        void multipleAllocations() {
            final Allocator pool = pool();
            final List<Long> addresses = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                addresses.add(pool.alloc(2048));
            }
            assertThat(addresses).doesNotHaveDuplicates();
            addresses.forEach(pool::free);
        }

        @Test
        void statsAreReported() {
            final Allocator pool = pool();
            final long address = pool.alloc(1024);
            assertThat(pool.stats().numAllocs()).isPositive();
            assertThat(pool.stats().bytesInUse()).isPositive();
            pool.free(address);
            assertThat(pool.stats().bytesInUse()).isZero();
        }

        @Test
        void zeroSizeAlloc() {
            assertThat(pool().alloc(0)).isZero();
        }

        @Test
        void largeAllocation() {
            final Allocator pool = pool();
            pool.free(pool.alloc(32 * MIB));
        }

        @Test
        void customReleaseThreshold() {
            final Allocator pool = pool("arena.cuda_mempool_release_threshold", "1048576");
            pool.free(pool.alloc(4096));
            assertThat(pool.effectiveOptions().value("arena.cuda_mempool_release_threshold"))
                    .isEqualTo("1048576");
        }

        @Test
        void freeNullptrIsSafe() {
            pool().free(0);
        }

        @Test
        void bytesToKeepOnShrinkConfig() {
            final Allocator pool = pool("arena.cuda_mempool_bytes_to_keep_on_shrink", "65536");
            pool.free(pool.alloc(4096));
            shrink(pool);
        }

        @Test
        void allStatsKeysPresent() {
            assertThat(pool().stats().toMap())
                    .containsKeys("NumAllocs", "TotalAllocated", "InUse", "MaxInUse", "MaxAllocSize");
        }

        @Test
        void shrinkTrimsPool() {
            final Allocator pool = pool();
            pool.free(pool.alloc(4096));
            final long before = pool.stats().numArenaShrinkages();
            shrink(pool);
            assertThat(pool.stats().numArenaShrinkages()).isEqualTo(before + 1);
        }

        @Test
        void onlyAPoolIsOrderedByTheDevice() {
            assertThat(((StreamAwareAllocator) device()).isOrderedByDevice()).isFalse();
            assertThat(((StreamAwareAllocator) pool()).isOrderedByDevice()).isTrue();
        }
    }

    @Nested
    class Lifetimes {
        @Test
        void arenaPoolAndPinnedArenaAreCountedApart() {
            final Allocator arena = device();
            final Allocator pool =
                    factory.createAllocator(deviceMemory, AllocatorOptions.of(Map.of("arena.use_cuda_mempool", "1")));
            final Allocator pinned = factory.createAllocator(pinnedMemory, AllocatorOptions.EMPTY);
            assertThat(factory.createAllocator(deviceMemory, AllocatorOptions.EMPTY))
                    .isSameAs(arena);
            factory.releaseAllocator(pool);
            factory.releaseAllocator(arena);
            factory.releaseAllocator(pinned);
            arena.free(arena.alloc(256));
            assertThatExceptionOfType(AllocatorClosedException.class).isThrownBy(() -> pool.alloc(1));
            assertThatExceptionOfType(AllocatorClosedException.class).isThrownBy(() -> pinned.alloc(1));
        }

        @Test
        void settingsThatComeLateAreVisiblyNotInForce() {
            device("arena.initial_chunk_size_bytes", "4096");
            final Allocator second = factory.createAllocator(
                    deviceMemory, AllocatorOptions.of(Map.of("arena.initial_chunk_size_bytes", "8192")));
            others.add(second);
            assertThat(second.effectiveOptions().value("arena.initial_chunk_size_bytes"))
                    .isEqualTo("4096");
            final Allocator own = factory.createAllocator(
                    deviceMemory,
                    AllocatorOptions.of(Map.of("arena.initial_chunk_size_bytes", "8192", "arena.exclusive", "1")));
            others.add(own);
            assertThat(own.effectiveOptions().value("arena.initial_chunk_size_bytes"))
                    .isEqualTo("8192");
        }

        @Test
        void aReleasedArenaReturnsWhatIsLive() {
            final StreamAwareAllocator arena = (StreamAwareAllocator) device();
            try (SyncStream stream = factory.createSyncStream(deviceMemory)) {
                final long address = arena.allocOnStream(MIB, stream);
                driver.memory().memsetD8Async(0, address, (byte) 1, MIB, stream.handle());
                arena.reserve(MIB);
                final Allocator released = allocator;
                allocator = null;
                factory.releaseAllocator(released);
                assertThatExceptionOfType(AllocatorClosedException.class).isThrownBy(() -> released.free(address));
                stream.onSessionRunEnd();
            }
        }

        @Test
        void moreThanTheDeviceHasIsATypedErrorAndHarmsNobody() {
            final Allocator arena = device();
            final long live = arena.alloc(4096);
            fill(live, 7, 4096);
            final long total = driver.memory().memGetInfo(0).totalByteSize();
            final long largestRegion = 1L << 44;
            for (long tooMuch : new long[] {total, 2 * total, largestRegion, 1L << 50}) {
                assertThatExceptionOfType(OutOfMemoryException.class)
                        .isThrownBy(() -> arena.alloc(tooMuch))
                        .satisfies(e -> {
                            assertThat(e.shortage().requested()).isEqualTo(tooMuch);
                            // What no region can hold the device is not asked for.
                            if (tooMuch <= largestRegion) {
                                assertThat(e.shortage().deviceFree()).isPositive();
                            }
                        });
                assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> arena.reserve(tooMuch));
            }
            assertFilled(deviceMemory, live, 7, 4096);
            arena.free(live);
            arena.free(arena.alloc(MIB));
        }

        @Test
        void aThreadThatNeverTouchedCudaFrees() throws InterruptedException {
            final Allocator arena = device();
            final long chunk = arena.alloc(4096);
            final long reserved = arena.reserve(4096);
            final Thread thread = Thread.ofPlatform().start(() -> {
                arena.free(chunk);
                arena.free(reserved);
                shrink(arena);
            });
            thread.join();
            assertThat(arena.stats().bytesHeld()).isZero();
        }
    }

    /** The faults of ONNX Runtime by the numbers of their reports. */
    @Nested
    class Faults {
        /** Memory grew without bound where runs hopped from thread to thread: their streams' chunks stayed tied. */
        @Test
        void issue29351_workThatHopsThreadsDoesNotGrowTheArena() throws InterruptedException {
            final StreamAwareAllocator arena = (StreamAwareAllocator) device();
            final List<SyncStream> streams = new ArrayList<>();
            long plateau = 0;
            for (int run = 0; run < 24; run++) {
                final int streamIndex = run % 4;
                final Thread thread = Thread.ofPlatform().start(() -> {
                    if (streams.size() == streamIndex) {
                        streams.add(factory.createSyncStream(deviceMemory));
                    }
                    final SyncStream stream = streams.get(streamIndex);
                    for (int i = 0; i < 10; i++) {
                        final long address = arena.allocOnStream(3 * MIB, stream);
                        driver.memory().memsetD8Async(0, address, (byte) i, 3 * MIB, stream.handle());
                        arena.free(address);
                    }
                    stream.onSessionRunEnd();
                });
                thread.join();
                plateau = run == 0 ? arena.stats().bytesHeld() : plateau;
                assertThat(arena.stats().bytesHeld()).isEqualTo(plateau);
            }
            streams.forEach(SyncStream::close);
        }

        /** A stream was destroyed with chunks tied to it, and these were used by others while its work went on. */
        @Test
        void issue31983_aClosedStreamsMemoryIsUsedOnlyWhenItsWorkIsDone() {
            final StreamAwareAllocator arena = (StreamAwareAllocator) device();
            final SyncStream first = factory.createSyncStream(deviceMemory);
            final long freed = arena.allocOnStream(512 << 10, first);
            final long live = arena.allocOnStream(256 << 10, first);
            driver.memory().memsetD8Async(0, freed, (byte) 1, 512 << 10, first.handle());
            driver.memory().memsetD8Async(0, live, (byte) 1, 256 << 10, first.handle());
            arena.free(freed);
            first.close();
            try (SyncStream second = factory.createSyncStream(deviceMemory)) {
                final long again = arena.allocOnStream(512 << 10, second);
                assertThat(again).isEqualTo(freed);
                driver.memory().memsetD8Async(0, again, (byte) 2, 512 << 10, second.handle());
                arena.free(again);
                arena.free(live);
                second.onSessionRunEnd();
            }
            assertThat(shrink(arena).bytesHeld()).isZero();
        }

        /** The mended close crashed where the arena was gone already. */
        @Test
        void issue32445_aStreamClosesAfterItsArena() {
            final StreamAwareAllocator arena = (StreamAwareAllocator) device();
            final SyncStream stream = factory.createSyncStream(deviceMemory);
            arena.free(arena.allocOnStream(4096, stream));
            allocator = null;
            factory.releaseAllocator(arena);
            stream.onSessionRunEnd();
            stream.close();
        }

        /** Memory that no stream owned was handed to streams though work of others was queued on it. */
        @Test
        void issue32342_memoryWithoutAStreamIsNeverMemoryThatAStreamMayStillUse() {
            final StreamAwareAllocator arena =
                    (StreamAwareAllocator) device("arena.initial_chunk_size_bytes", Long.toString(MIB));
            try (SyncStream stream = factory.createSyncStream(deviceMemory)) {
                final long freed = arena.allocOnStream(MIB, stream);
                driver.memory().memsetD8Async(0, freed, (byte) 1, MIB, stream.handle());
                arena.free(freed);
                final long other = arena.alloc(MIB);
                assertThat(other).isNotEqualTo(freed);
                driver.memory().memsetD8(0, other, (byte) 2, MIB);
                driver.devices().ctxSynchronize(0);
                arena.free(other);
            }
        }

        /** A run that ends without a synchronization left chunks for others to use. */
        @Test
        void aStreamsMemoryIsItsOwnUntilTheRunEnds() {
            final StreamAwareAllocator arena = (StreamAwareAllocator) device();
            try (SyncStream first = factory.createSyncStream(deviceMemory);
                    SyncStream second = factory.createSyncStream(deviceMemory)) {
                final long address = arena.allocOnStream(MIB, first);
                arena.free(address);
                final long other = arena.allocOnStream(MIB, second);
                assertThat(other).isNotEqualTo(address);
                first.onSessionRunEnd();
                final long again = arena.allocOnStream(MIB, second);
                assertThat(again).isEqualTo(address);
                arena.free(other);
                arena.free(again);
            }
        }

        @Test
        void aClosedStreamGetsNoMemory() {
            final StreamAwareAllocator arena = (StreamAwareAllocator) device();
            final SyncStream stream = factory.createSyncStream(deviceMemory);
            stream.close();
            assertThatIllegalStateException().isThrownBy(() -> arena.allocOnStream(1, stream));
        }
    }

    @Test
    void theDeviceIsAGpu() {
        assertThat(deviceMemory.deviceType()).isEqualTo(DeviceType.GPU);
        assertThat(factory.isStreamAware(deviceMemory)).isTrue();
        assertThat(factory.isStreamAware(pinnedMemory)).isFalse();
    }
}
