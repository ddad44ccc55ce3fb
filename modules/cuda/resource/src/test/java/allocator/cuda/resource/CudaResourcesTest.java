package allocator.cuda.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.provider.support.budget.Budget;
import allocator.resource.FallbackResource;
import allocator.resource.InvalidAlignmentException;
import allocator.resource.MemoryKind;
import allocator.resource.MemoryResource;
import allocator.resource.ResourceAllocator;
import allocator.resource.ResourceArena;
import allocator.resource.StatisticsResource;
import allocator.resource.budget.BudgetResource;
import allocator.spi.DeviceException;
import allocator.spi.ForeignAddressException;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class CudaResourcesTest {
    private static final long MIB = 1 << 20;

    private final SimulatedCudaDriver driver = SimulatedCudaDriver.builder()
            .withMemory(64 * MIB)
            .withLaggingStreams()
            .build();

    /** The CUDA resources. */
    enum Kind {
        DEVICE(MemoryKind.DEVICE),
        UNIFIED(MemoryKind.UNIFIED),
        PINNED(MemoryKind.PINNED),
        ASYNC(MemoryKind.DEVICE);

        private final MemoryKind memoryKind;

        Kind(MemoryKind memoryKind) {
            this.memoryKind = memoryKind;
        }

        MemoryResource over(SimulatedCudaDriver driver) {
            return switch (this) {
                case DEVICE -> new CudaDeviceResource(driver, 0);
                case UNIFIED -> new CudaUnifiedResource(driver, 0);
                case PINNED -> new CudaPinnedResource(driver, 0);
                case ASYNC -> new CudaAsyncResource(driver, 0);
            };
        }
    }

    @BeforeEach
    void retain() {
        driver.devices().primaryContextRetain(0);
    }

    @AfterEach
    void nothingIsLeft() {
        driver.devices().primaryContextRelease(0);
        driver.close();
    }

    @ParameterizedTest
    @EnumSource
    void everyResourceKeepsTheContract(Kind kind) {
        try (MemoryResource resource = kind.over(driver)) {
            assertThat(resource.kind()).isEqualTo(kind.memoryKind);
            assertThat(resource.allocate(0)).isZero();
            resource.deallocate(0, 0);
            long one = resource.allocate(1);
            long two = resource.allocate(MIB, 128);
            assertThat(one % 256).isZero();
            assertThat(two % 256).isZero();
            assertThat(one).isNotEqualTo(two);
            assertThatThrownBy(() -> resource.allocate(-1)).isInstanceOf(InvalidSizeException.class);
            assertThatThrownBy(() -> resource.allocate(1, 512)).isInstanceOf(InvalidAlignmentException.class);
            assertThatThrownBy(() -> resource.allocate(1, 3)).isInstanceOf(InvalidAlignmentException.class);
            resource.deallocate(one, 1);
            resource.deallocate(two, MIB, 128);
            driver.controls().advanceAll();
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"DEVICE", "ASYNC"})
    void exhaustionReportsTheFreeBytesOfTheDevice(Kind kind) {
        try (MemoryResource resource = kind.over(driver)) {
            assertThatThrownBy(() -> resource.allocate(65 * MIB))
                    .isInstanceOfSatisfying(
                            OutOfMemoryException.class,
                            e -> assertThat(e.shortage().deviceFree()).isBetween(1L, 64 * MIB));
        }
    }

    @ParameterizedTest
    @EnumSource(names = "ASYNC", mode = EnumSource.Mode.EXCLUDE)
    void invalidDeallocationsNeverReachTheDriver(Kind kind) {
        MemoryResource resource = kind.over(driver);
        long address = resource.allocate(100);
        assertThatThrownBy(() -> resource.deallocate(address, 101)).isInstanceOf(InvalidSizeException.class);
        assertThatThrownBy(() -> resource.deallocate(address + 256, 100)).isInstanceOf(ForeignAddressException.class);
        resource.deallocate(address, 100);
        assertThatThrownBy(() -> resource.deallocate(address, 100)).isInstanceOf(ForeignAddressException.class);
    }

    @Test
    void anotherFailureOfTheDriverIsNotExhaustion() {
        MemoryResource resource = new CudaDeviceResource(driver, 0);
        driver.controls().failOnCall(1, CudaResult.ILLEGAL_ADDRESS);
        assertThatThrownBy(() -> resource.allocate(1)).isInstanceOf(DeviceException.class);
        driver.controls().failAlways(CudaFunction.MEM_POOL_SET_ATTRIBUTE, CudaResult.NOT_SUPPORTED);
        assertThatThrownBy(() -> new CudaAsyncResource(driver, 0)).isInstanceOf(DeviceException.class);
        driver.controls().clearFailures();
    }

    @Test
    void hostAccessibleMemoryServesTheJdk() {
        MemoryResource pinned = new CudaPinnedResource(driver, 0);
        try (ResourceArena arena = ResourceArena.ofConfined(pinned)) {
            var numbers = arena.allocateFrom(ValueLayout.JAVA_INT, 1, 2, 3);
            assertThat(numbers.getAtIndex(ValueLayout.JAVA_INT, 2)).isEqualTo(3);
        }
        assertThat(ResourceAllocator.of(pinned)).isInstanceOf(HostAccessibleAllocator.class);
    }

    @Test
    void unifiedMemoryReplacesDeviceMemory() {
        MemoryResource both =
                new FallbackResource(new CudaDeviceResource(driver, 0), new CudaUnifiedResource(driver, 0));
        long address = both.allocate(100 * MIB);
        both.deallocate(address, 100 * MIB);
    }

    /** The device reports a use of pool memory that did not wait for the allocation. */
    @Test
    void memoryWithoutAStreamIsUsableOnEveryStreamAtOnce() {
        try (CudaAsyncResource async = new CudaAsyncResource(driver, 0);
                DriverStream stream = new DriverStream(driver, async.memory())) {
            long address = async.allocate(MIB);
            driver.memory().memsetD8Async(0, address, (byte) 1, MIB, stream.handle());
            stream.flush();
            async.deallocate(address, MIB);
            assertThat(driver.controls().hazards()).isEmpty();
        }
    }

    @Test
    void onlyPoolMemoryIsOrderedByTheDevice() {
        try (CudaAsyncResource async = new CudaAsyncResource(driver, 0)) {
            MemoryResource device = new CudaDeviceResource(driver, 0);
            assertThat(device.isOrderedByDevice()).isFalse();
            assertThat(async.isOrderedByDevice()).isTrue();
            MemoryResource stack = new StatisticsResource(new FallbackResource(device, async));
            assertThat(ResourceAllocator.of(stack).isOrderedByDevice()).isTrue();
        }
    }

    @Test
    void streamOrderedMemoryIsDeallocatedWhileWorkIsQueued() {
        try (CudaAsyncResource async = new CudaAsyncResource(driver, 0)) {
            StatisticsResource counted = new StatisticsResource(async);
            BudgetResource stack = new BudgetResource(counted, Budget.of("device", 10 * MIB));
            try (DriverStream stream = new DriverStream(driver, async.memory())) {
                long address = stack.allocate(MIB, 256, stream);
                driver.memory().memsetD8Async(0, address, (byte) 1, MIB, stream.handle());
                stack.deallocate(address, MIB, 256, stream);
                assertThat(counted.statistics().bytes()).isZero();
            }
            assertThat(async.shrink().bytesReleased()).isPositive();
            assertThat(async.shrink().bytesHeld()).isZero();
        }
    }
}
