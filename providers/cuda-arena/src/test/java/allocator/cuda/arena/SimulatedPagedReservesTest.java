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
import allocator.spi.RemappableReserves;
import allocator.spi.ShrinkableAllocator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

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
            once(driver, arena, () -> pages.map(address, NOTHING), pages, address, BYTES);
            once(driver, arena, () -> pages.unmap(address), pages, address, 0);
            if (isAtTheRelease) {
                driver.controls().failOnCall(number, result);
            } else {
                arena.free(block);
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
