package allocator.cuda.arena;

import static allocator.cuda.arena.CudaArenaFixture.MIB;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.spi.Allocator;
import allocator.spi.AllocatorException;
import allocator.spi.DeviceException;
import allocator.spi.PagedReserves;
import allocator.spi.RemappableReserves;
import allocator.spi.ShrinkableAllocator;
import allocator.testkit.Share;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What only a simulated device does to reserves on pages: it fails on demand, and detects misuse. */
class SimulatedPagedReservesTest {
    private static final RemappableReserves.Part NOTHING = (offset, byteSize) -> {};
    private static final long BYTES = 20 * MIB;

    private static long usedBytes(SimulatedCudaDriver driver) {
        try {
            final var usage = driver.memory().memGetInfo(0);
            return usage.totalByteSize() - usage.freeByteSize();
        } catch (CudaException e) {
            return usedBytes(driver); // the call that was to fail
        }
    }

    /** Reserve, unmap, map, free: whichever call fails, each has its effect or none, and the books are true. */
    @ParameterizedTest
    @CsvSource({
        CudaResult.OUT_OF_MEMORY + ", false",
        CudaResult.INVALID_VALUE + ", false",
        CudaResult.INVALID_VALUE + ", true"
    })
    void nothingIsLostWhicheverCallFails(int result, boolean isAtTheRelease) {
        for (int number = 1; ; number++) {
            final SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build();
            final CudaArenaFixture gpu = new CudaArenaFixture();
            gpu.open(driver);
            final Allocator arena = gpu.device("arena.paged_reserves", "1");
            final RemappableReserves pages = arena.as(RemappableReserves.class).orElseThrow();
            if (!isAtTheRelease) {
                driver.controls().failOnCall(number, result);
            }
            final long before = driver.controls().calls();
            long block = 0;
            while (block == 0) {
                try {
                    block = arena.reserve(BYTES);
                } catch (AllocatorException e) {
                    requireTrueBooks(driver, arena);
                }
            }
            final long address = block;
            once(driver, arena, () -> pages.unmap(address), pages, address, 0);
            assertThat(asleepBytes(arena)).isEqualTo(BYTES);
            once(driver, arena, () -> pages.map(address, NOTHING), pages, address, BYTES);
            assertThat(asleepBytes(arena)).isZero();
            once(driver, arena, () -> pages.unmap(address), pages, address, 0);
            if (isAtTheRelease) {
                driver.controls().failOnCall(number, result);
            } else {
                arena.free(block);
                assertThat(asleepBytes(arena)).isZero();
                driver.controls().clearFailures();
                ((ShrinkableAllocator) arena).shrink();
                assertThat(arena.stats().bytesHeld()).isZero();
                requireTrueBooks(driver, arena);
            }
            final long calls = driver.controls().calls() - before;
            try {
                gpu.close();
            } catch (AllocatorException e) {
                gpu.factory().close(); // tries again
            }
            driver.controls().clearFailures();
            driver.close();
            if (number > calls + (isAtTheRelease ? 12 : 0)) {
                return;
            }
        }
    }

    /** Makes a call until it succeeds; as long as it fails, the pages are as they were. */
    private static void once(
            SimulatedCudaDriver driver,
            Allocator arena,
            Runnable call,
            RemappableReserves pages,
            long address,
            long mappedBytes) {
        final long before = pages.mappedBytes(address);
        while (pages.mappedBytes(address) != mappedBytes) {
            try {
                call.run();
            } catch (AllocatorException e) {
                assertThat(pages.mappedBytes(address)).isEqualTo(before);
            }
            requireTrueBooks(driver, arena);
        }
    }

    @Test
    void whatTheDeviceDoesNotTakeBackIsNotAsleep() {
        try (SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build()) {
            final CudaArenaFixture gpu = new CudaArenaFixture();
            gpu.open(driver);
            final Allocator arena = gpu.device("arena.paged_reserves", "1");
            for (int number = 1; number <= 4; number++) {
                final long block = arena.reserve(BYTES);
                driver.controls().failOnCall(number, CudaResult.INVALID_VALUE);
                arena.free(block);
                assertThat(asleepBytes(arena)).isZero();
                driver.controls().clearFailures();
            }
            ((ShrinkableAllocator) arena).shrink();
            gpu.close();
        }
    }

    private static long asleepBytes(Allocator arena) {
        return arena.stats().counter("asleepBytes").orElseThrow().value();
    }

    /** Shares a third reserve, and takes pages away and gives them back: whichever call fails, all bytes stay right. */
    @ParameterizedTest
    @ValueSource(ints = {CudaResult.OUT_OF_MEMORY, CudaResult.INVALID_VALUE})
    void sharedReservesKeepTheirBytesWhicheverCallFails(int result) {
        for (int number = 1 + result % Share.step(); ; number += Share.step()) {
            final SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build();
            final CudaArenaFixture gpu = new CudaArenaFixture();
            gpu.open(driver);
            final Allocator arena = gpu.device("arena.paged_reserves", "1");
            final RemappableReserves pages = arena.as(RemappableReserves.class).orElseThrow();
            final PagedReserves sharing = arena.as(PagedReserves.class).orElseThrow();
            final List<Long> blocks = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                blocks.add(arena.reserve(BYTES));
                gpu.fill(blocks.get(i), 5, BYTES);
            }
            sharing.share(blocks.get(0));
            sharing.share(blocks.get(1));
            final long before = driver.controls().calls();
            driver.controls().failOnCall(number, result);
            while (sharing.sharedBytes() < 2 * BYTES) {
                attempt(() -> sharing.share(blocks.get(2)));
                requireTrueBooks(driver, arena);
                blocks.forEach(block -> assertBytes(driver, block));
            }
            final int taken = number % 3;
            for (int i = 0; i <= taken; i++) {
                final long block = blocks.get(i);
                once(driver, arena, () -> pages.unmap(block), pages, block, 0);
            }
            for (int i = 0; i <= taken; i++) {
                final long block = blocks.get(i);
                final RemappableReserves.Part fill = (offset, byteSize) ->
                        attempt(() -> driver.memory().memsetD8(0, block + offset, (byte) 5, byteSize));
                once(driver, arena, () -> pages.map(block, fill), pages, block, BYTES);
                attempt(() -> sharing.share(block)); // and once more, as one call fails
                attempt(() -> sharing.share(block));
                requireTrueBooks(driver, arena);
            }
            final long calls = driver.controls().calls() - before;
            driver.controls().clearFailures();
            ((ShrinkableAllocator) arena).shrink();
            assertThat(arena.stats().bytesHeld()).isEqualTo(BYTES);
            for (final long block : blocks) {
                assertBytes(driver, block);
                arena.free(block);
                requireTrueBooks(driver, arena);
            }
            gpu.close();
            assertThat(driver.controls().leaks()).isEmpty();
            driver.close();
            if (number > calls) {
                return;
            }
        }
    }

    /** Compares the first and the last byte; a call of the driver that is to fail fails here as well. */
    private static void assertBytes(SimulatedCudaDriver driver, long block) {
        try (Arena memory = Arena.ofConfined()) {
            final MemorySegment read = memory.allocate(2);
            for (int i = 0; i < 2; i++) {
                final int which = i;
                attempt(() -> driver.memory().memcpyDtoH(0, read.address() + which, block + which * (BYTES - 1), 1));
                attempt(() -> driver.memory().memcpyDtoH(0, read.address() + which, block + which * (BYTES - 1), 1));
            }
            assertThat(read.toArray(ValueLayout.JAVA_BYTE)).containsExactly(5, 5);
        }
    }

    /** Then it cannot be given back what it had, and has no pages, as after an unmap; others keep theirs. */
    @ParameterizedTest
    @EnumSource(
            value = CudaFunction.class,
            names = {"MEM_MAP", "MEM_SET_ACCESS"})
    void aDeviceThatFailsForGoodTakesThePagesOfOneReserve(CudaFunction function) {
        try (SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build()) {
            final CudaArenaFixture gpu = new CudaArenaFixture();
            gpu.open(driver);
            final Allocator arena = gpu.device("arena.paged_reserves", "1");
            final RemappableReserves pages = arena.as(RemappableReserves.class).orElseThrow();
            final PagedReserves sharing = arena.as(PagedReserves.class).orElseThrow();
            final List<Long> blocks = List.of(arena.reserve(BYTES), arena.reserve(BYTES));
            blocks.forEach(block -> gpu.fill(block, 5, BYTES));
            sharing.share(blocks.get(0));
            driver.controls().failAlways(function, CudaResult.INVALID_VALUE);
            assertThatThrownBy(() -> sharing.share(blocks.get(1))).isInstanceOf(DeviceException.class);
            driver.controls().clearFailures();
            assertThat(pages.mappedBytes(blocks.get(1))).isZero();
            requireTrueBooks(driver, arena);
            assertThat(arena.stats().bytesInUse()).isEqualTo(BYTES);
            assertBytes(driver, blocks.get(0));
            pages.map(blocks.get(1), (offset, byteSize) -> gpu.fill(blocks.get(1) + offset, 5, byteSize));
            assertThat(sharing.share(blocks.get(1))).isEqualTo(BYTES);
            blocks.forEach(block -> assertBytes(driver, block));
            blocks.forEach(arena::free);
            requireTrueBooks(driver, arena);
            gpu.close();
        }
    }

    private static void attempt(Runnable call) {
        try {
            call.run();
        } catch (AllocatorException | CudaException e) {
            assertThat(e).hasMessageContaining("CUDA_ERROR");
        }
    }

    @Test
    void aWriteToWhatIsSharedIsAnErrorAndChangesNothing() {
        try (SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build()) {
            final CudaArenaFixture gpu = new CudaArenaFixture();
            gpu.open(driver);
            final Allocator arena = gpu.device("arena.paged_reserves", "1");
            final RemappableReserves pages = arena.as(RemappableReserves.class).orElseThrow();
            final PagedReserves sharing = arena.as(PagedReserves.class).orElseThrow();
            final long first = arena.reserve(BYTES);
            final long second = arena.reserve(BYTES);
            assertThat(sharing.share(first)).isZero();
            assertThatThrownBy(() -> gpu.fill(first, 1, 1)).isInstanceOf(CudaException.class);
            assertThat(sharing.share(second)).as("new reserves are cleared").isEqualTo(BYTES);
            for (int round = 0; round < 2; round++) {
                for (final long block : List.of(first, second)) {
                    assertThatThrownBy(() -> gpu.fill(block + BYTES - 1, 1, 1)).isInstanceOf(CudaException.class);
                    gpu.assertFilled(gpu.deviceMemory(), block, 0, BYTES);
                }
                pages.unmap(second);
                pages.map(second, NOTHING);
                pages.unmap(second);
                pages.unmap(first);
                pages.map(second, (offset, byteSize) -> gpu.fill(second + offset, 0, byteSize));
                assertThat(sharing.share(second)).isZero();
                pages.map(first, NOTHING);
            }
            gpu.close();
        }
    }

    private static void requireTrueBooks(SimulatedCudaDriver driver, Allocator arena) {
        assertThat(arena.stats().bytesHeld()).isEqualTo(usedBytes(driver));
    }

    @Test
    void aUseOfMemoryWithoutPagesIsAnError() {
        try (SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build()) {
            final CudaArenaFixture gpu = new CudaArenaFixture();
            gpu.open(driver);
            final Allocator arena = gpu.device("arena.paged_reserves", "1");
            final RemappableReserves pages = arena.as(RemappableReserves.class).orElseThrow();
            final long block = arena.reserve(BYTES);
            gpu.fill(block, 1, BYTES);
            pages.unmap(block);
            assertThatThrownBy(() -> gpu.fill(block + 4 * MIB, 1, 1)).isInstanceOf(CudaException.class);
            pages.map(block, NOTHING);
            gpu.fill(block + 4 * MIB, 1, 1);
            gpu.close();
        }
    }

    @Test
    void theDeviceIsWaitedForBeforePagesGo() {
        try (SimulatedCudaDriver driver =
                SimulatedCudaDriver.builder().withLaggingStreams().build()) {
            final CudaArenaFixture gpu = new CudaArenaFixture();
            gpu.open(driver);
            final Allocator arena = gpu.device("arena.paged_reserves", "1");
            final RemappableReserves pages = arena.as(RemappableReserves.class).orElseThrow();
            final long block = arena.reserve(BYTES);
            final long stream = driver.streams().streamCreate(0);
            driver.memory().memsetD8Async(0, block, (byte) 1, BYTES, stream);
            driver.controls().failOnCall(CudaFunction.CTX_SYNCHRONIZE, 1, CudaResult.INVALID_VALUE);
            pages.unmap(block); // waits again
            driver.controls().failAlways(CudaFunction.CTX_SYNCHRONIZE, CudaResult.INVALID_VALUE);
            pages.map(block, NOTHING);
            assertThatThrownBy(() -> pages.unmap(block)).isInstanceOf(RuntimeException.class);
            assertThat(pages.mappedBytes(block)).isEqualTo(BYTES);
            driver.controls().clearFailures();
            driver.streams().streamDestroy(0, stream);
            gpu.close();
        }
    }

    @Test
    void withoutVirtualMemoryTheOptionIsOffAndSaysWhy() {
        try (SimulatedCudaDriver driver =
                SimulatedCudaDriver.builder().withoutVirtualMemory().build()) {
            final CudaArenaFixture gpu = new CudaArenaFixture();
            gpu.open(driver);
            final Allocator arena = gpu.device("arena.paged_reserves", "1");
            assertThat(arena.as(RemappableReserves.class)).isEmpty();
            assertThat(arena.effectiveOptions().value("arena.paged_reserves")).isEqualTo("0");
            assertThat(arena.effectiveOptions().whyServed("arena.paged_reserves", "1", "explicit call"))
                    .contains("no virtual memory");
            gpu.close();
        }
    }

    /** They wrap the arena, and no block of a reserve comes or goes through the capability. */
    @Test
    void checksAndPlansPassTheCapabilityOn() {
        try (SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build()) {
            final CudaArenaFixture gpu = new CudaArenaFixture();
            gpu.open(driver);
            final Allocator arena = gpu.device("arena.paged_reserves", "1", "arena.check_streams", "1");
            final RemappableReserves pages = arena.as(RemappableReserves.class).orElseThrow();
            final long block = arena.reserve(BYTES);
            pages.unmap(block);
            pages.map(block, NOTHING);
            arena.free(block);
            gpu.close();
        }
    }
}
