package allocator.cuda.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.cuda.testkit.Capture;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.DataTransfer;
import allocator.spi.DeviceException;
import allocator.spi.EpFactory;
import allocator.spi.InspectableAllocator;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryRange;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.StreamHazardException;
import allocator.spi.StreamHazardException.Kind;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Right programs that {@code arena.check_streams} does not reject, and what it still does beside them. */
class CheckedUsesTest {
    private static final long SIZE = 4096;

    /** What a simulated pool takes from the device for a small block. */
    private static final long POOL_SEGMENT = 32 << 20;

    private final SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build();
    private final EpFactory provider = driver.provider("cuda-arena");
    private final EpFactory second = driver.provider("cuda-arena");
    private final MemoryInfo memory =
            provider.discoverDevices().devices().getFirst().defaultMemory().orElseThrow();
    private final MemoryInfo pinnedMemory = provider.discoverDevices()
            .devices()
            .getFirst()
            .hostAccessibleMemory()
            .orElseThrow();
    private final MemoryInfo readOnlyMemory =
            provider.discoverDevices().devices().getFirst().readOnlyMemory().orElseThrow();
    private final DataTransfer transfers = provider.dataTransfer().orElseThrow();
    private final SyncStream stream = provider.createSyncStream(memory);
    private final SyncStream other = provider.createSyncStream(memory);

    @AfterEach
    void nothingIsLeft() {
        stream.close();
        other.close();
        provider.close();
        second.close();
        driver.close(); // throws if anything is left
    }

    private Allocator checked(EpFactory factory, MemoryInfo info, String... keyAndValue) {
        final AllocatorOptions options = AllocatorOptions.of(Map.of("arena.check_streams", "1"));
        return factory.createAllocator(
                info, keyAndValue.length == 0 ? options : options.with(keyAndValue[0], keyAndValue[1], "test"));
    }

    private static MemoryRange range(MemoryInfo info, long address) {
        return new MemoryRange(info, address, SIZE);
    }

    private void copy(MemoryRange source, MemoryRange target, SyncStream on) {
        transfers.copy(source, target, on);
    }

    private static void assertHazard(Kind kind, ThrowingCallable call) {
        assertThatExceptionOfType(StreamHazardException.class)
                .isThrownBy(call)
                .satisfies(hazard -> assertThat(hazard.kind()).isEqualTo(kind));
    }

    private static void order(SyncStream before, SyncStream after) {
        try (SyncNotification point = before.createNotification()) {
            point.activate();
            point.waitOnDevice(after);
        }
    }

    /** Takes the memory that the driver got back, and uses it as memory of other code. */
    private void useAgain(long address, long byteSize) {
        final long again = driver.memory().memAlloc(0, byteSize);
        assertThat(again).isEqualTo(address);
        copy(range(memory, again), range(memory, again), stream);
        stream.flush();
        driver.memory().memFree(0, again);
    }

    @Test
    void theChunksOfEachMemoryAreListed() {
        for (final MemoryInfo info : List.of(memory, pinnedMemory, readOnlyMemory)) {
            final Allocator allocator = checked(provider, info);
            final long block = allocator.alloc(SIZE);
            assertThat(((InspectableAllocator) allocator).inspect())
                    .satisfies(chunks -> assertThat(Stream.concat(
                                    chunks.regions().stream().flatMap(region -> region.chunks().stream()),
                                    chunks.blocks().stream()))
                            .contains(new Chunk(block, SIZE, SIZE, State.LIVE, 0)));
            allocator.free(block);
            provider.releaseAllocator(allocator);
        }
    }

    @Test
    void aReserveGoesBackToTheDriver() {
        final Allocator arena = checked(provider, memory);
        final long address = arena.reserve(SIZE);
        arena.free(address);
        useAgain(address, SIZE);
        provider.releaseAllocator(arena);
    }

    @Test
    void soDoesOneOfPinnedMemory() {
        final Allocator arena = checked(provider, pinnedMemory);
        final Allocator device = checked(provider, memory);
        final long block = device.alloc(SIZE);
        boolean isUsedAgain = false;
        // The host's allocator hands an address out again soon, but not always at once, and other free memory first.
        for (int i = 0; i < 1_000 && !isUsedAgain; i++) {
            final long address = arena.reserve(SIZE);
            arena.free(address);
            final List<Long> again = LongStream.range(0, 20)
                    .map(_ -> driver.memory().memHostAlloc(0, SIZE, true))
                    .boxed()
                    .toList();
            isUsedAgain = again.contains(address);
            again.forEach(pinned -> copy(range(pinnedMemory, pinned), range(memory, block), stream));
            stream.flush();
            again.forEach(pinned -> driver.memory().memFreeHost(0, pinned));
        }
        assertThat(isUsedAgain).isTrue();
        device.free(block);
        provider.releaseAllocator(arena);
        provider.releaseAllocator(device);
    }

    @Test
    void soDoesReadOnlyMemoryAndARegion() {
        final Allocator readOnly = checked(provider, readOnlyMemory);
        final long weights = readOnly.alloc(SIZE);
        readOnly.free(weights);
        useAgain(weights, SIZE);
        provider.releaseAllocator(readOnly);
        final Allocator arena = checked(provider, memory, "arena.extend_strategy", "1");
        final long block = arena.alloc(SIZE);
        arena.free(block);
        assertHazard(Kind.USE_AFTER_FREE, () -> copy(range(memory, block), range(memory, block), stream));
        ((ShrinkableAllocator) arena).shrink();
        useAgain(block, SIZE);
        provider.releaseAllocator(arena);
    }

    /** The driver takes free memory from the pool at each wait. */
    @Test
    void soDoesFreeMemoryOfAPoolThatKeepsNone() {
        final AllocatorOptions options = AllocatorOptions.of(Map.of(
                "arena.check_streams",
                "1",
                "arena.use_cuda_mempool",
                "1",
                "arena.cuda_mempool_release_threshold",
                "0"));
        final StreamAwareAllocator pool = (StreamAwareAllocator) provider.createAllocator(memory, options);
        final long address = pool.allocOnStream(SIZE, stream);
        pool.free(address);
        assertHazard(Kind.USE_AFTER_FREE, () -> copy(range(memory, address), range(memory, address), stream));
        stream.flush();
        useAgain(address, POOL_SEGMENT);
        provider.releaseAllocator(pool);
    }

    @Test
    void soDoesFreeMemoryOfAPoolAtItsLimit() {
        final AllocatorOptions options = AllocatorOptions.of(Map.of(
                "arena.check_streams",
                "1",
                "arena.use_cuda_mempool",
                "1",
                "arena.max_mem",
                Long.toString(2 * POOL_SEGMENT)));
        final Allocator pool = provider.createAllocator(memory, options);
        final long small = pool.alloc(SIZE);
        pool.free(small);
        final long large = pool.alloc(2 * POOL_SEGMENT); // the pool trims itself for it
        useAgain(small, POOL_SEGMENT);
        pool.free(large);
        provider.releaseAllocator(pool);
    }

    /** As each launch of the graph makes the copy, its memory is the user's to keep. */
    @Test
    void aCapturedCopyIsNoUse() {
        final Allocator arena = checked(provider, memory);
        final long source = arena.alloc(SIZE);
        final long target = arena.alloc(SIZE);
        try (Capture _ = Capture.of(driver, stream)) {
            copy(range(memory, source), range(memory, target), stream);
        }
        copy(range(memory, target), range(memory, source), other);
        other.flush();
        arena.free(source);
        arena.free(target);
        provider.releaseAllocator(arena);
    }

    @Test
    void aCopyThatTheDriverRejectsIsNoUse() {
        final Allocator arena = checked(provider, memory);
        final long source = arena.alloc(SIZE);
        final long target = arena.alloc(SIZE);
        driver.controls().failOnCall(CudaFunction.MEMCPY_DTOD_ASYNC, 1, CudaResult.ILLEGAL_ADDRESS);
        assertThatExceptionOfType(DeviceException.class)
                .isThrownBy(() -> copy(range(memory, source), range(memory, target), stream));
        arena.free(source);
        arena.free(target);
        provider.releaseAllocator(arena);
    }

    /** What is queued already stays a use where a later copy is rejected. */
    @Test
    void theCopyBeforeARejectedOneIsAUse() {
        final Allocator arena = checked(provider, memory);
        final long source = arena.alloc(SIZE);
        final long target = arena.alloc(SIZE);
        copy(range(memory, source), range(memory, target), stream);
        driver.controls().failOnCall(CudaFunction.MEMCPY_DTOD_ASYNC, 1, CudaResult.ILLEGAL_ADDRESS);
        assertThatExceptionOfType(DeviceException.class)
                .isThrownBy(() -> copy(range(memory, source), range(memory, target), stream));
        assertHazard(Kind.FREE_IN_USE, () -> arena.free(target));
        stream.flush();
        arena.free(source);
        arena.free(target);
        provider.releaseAllocator(arena);
    }

    @Test
    void viewsOfTwoProvidersAreOneStream() {
        final StreamAwareAllocator arena = (StreamAwareAllocator) checked(provider, memory);
        final StreamAwareAllocator arenaOfSecond = (StreamAwareAllocator) checked(second, memory);
        final long foreign = driver.streams().streamCreate(0);
        try (SyncStream mine = provider.viewSyncStream(memory, foreign);
                SyncStream its = second.viewSyncStream(memory, foreign)) {
            final long block = arena.allocOnStream(SIZE, mine);
            final long target = arenaOfSecond.allocOnStream(SIZE, its);
            second.dataTransfer().orElseThrow().copy(range(memory, block), range(memory, target), its);
            order(mine, other);
            copy(range(memory, target), range(memory, block), other);
            order(other, its);
            arena.free(block);
            arenaOfSecond.free(target);
            final long next = arena.allocOnStream(SIZE, mine);
            assertHazard(Kind.USE_BEFORE_READY, () -> copy(range(memory, next), range(memory, next), other));
            arena.free(next);
        }
        driver.streams().streamDestroy(0, foreign);
        provider.releaseAllocator(arena);
        second.releaseAllocator(arenaOfSecond);
    }

    @Test
    void aViewOfAProvidersOwnStreamIsThatStream() {
        final StreamAwareAllocator arena = (StreamAwareAllocator) checked(provider, memory);
        try (SyncStream view = second.viewSyncStream(memory, stream.handle())) {
            final long block = arena.allocOnStream(SIZE, stream);
            second.dataTransfer().orElseThrow().copy(range(memory, block), range(memory, block), view);
            arena.free(block);
        }
        provider.releaseAllocator(arena);
    }
}
