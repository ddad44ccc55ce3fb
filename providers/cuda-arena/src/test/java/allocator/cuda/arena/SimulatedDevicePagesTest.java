package allocator.cuda.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.cuda.testkit.FaultyDriver;
import allocator.spi.DeviceException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.UnsupportedMemoryException;
import allocator.testkit.FaultyCalls;
import allocator.testkit.pages.PageCalls;
import allocator.testkit.pages.PageSourceFaultsContract;
import allocator.testkit.pages.PageSubject;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** On a simulated device; closing it proves that nothing is left. */
class SimulatedDevicePagesTest {
    private static final long GRANULARITY = 2 << 20;
    private static final long LARGE_PAGE = 16 * GRANULARITY;
    private static final int UNKNOWN_ERROR = 999;

    @Nested
    class OfTheDriversSize extends Contract {
        OfTheDriversSize() {
            super(0, GRANULARITY);
        }
    }

    @Nested
    class Large extends Contract {
        Large() {
            super(LARGE_PAGE, LARGE_PAGE);
        }
    }

    /** The suite for one size of page. */
    abstract static class Contract extends PageSourceFaultsContract {
        private final long requested;
        private final long pageBytes;

        Contract(long requested, long pageBytes) {
            this.requested = requested;
            this.pageBytes = pageBytes;
        }

        @Override
        protected PageSubject open(FaultyCalls calls) {
            final SimulatedCudaDriver driver =
                    SimulatedCudaDriver.builder().withLaggingStreams().build();
            return new Subject(driver, new DevicePagesFixture(new FaultyDriver(driver, calls), requested));
        }

        @Override
        protected PageSubject openLimited(int most) {
            final SimulatedCudaDriver driver =
                    SimulatedCudaDriver.builder().withMemory(most * pageBytes).build();
            return new Subject(driver, new DevicePagesFixture(driver, requested));
        }

        @Override
        protected Map<String, Supplier<Throwable>> failures() {
            return Map.of(
                    "an unknown error",
                    () -> new CudaException(CudaFunction.MEM_MAP, "injected", UNKNOWN_ERROR),
                    "lack of memory",
                    () -> new CudaException(CudaFunction.MEM_MAP, "injected", CudaResult.OUT_OF_MEMORY),
                    "the end of the heap",
                    () -> new OutOfMemoryError("injected"));
        }
    }

    /** A fixture with a driver of its own. */
    private record Subject(SimulatedCudaDriver driver, DevicePagesFixture fixture) implements PageSubject {
        @Override
        public PageCalls pages() {
            return fixture.pages();
        }

        @Override
        public void write(long address, byte[] bytes) {
            fixture.write(address, bytes);
        }

        @Override
        public byte[] read(long address, int byteSize) {
            return fixture.read(address, byteSize);
        }

        @Override
        public void close() {
            fixture.close();
            driver.close();
        }
    }

    @Test
    void aPageThatCannotBeAccessedIsNotMapped() {
        try (SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build();
                DevicePagesFixture fixture = new DevicePagesFixture(driver, 0)) {
            final DevicePages pages = fixture.source();
            final long range = pages.reserve(GRANULARITY);
            final long page = pages.create(1);
            driver.controls().failOnCall(CudaFunction.MEM_SET_ACCESS, 1, CudaResult.OUT_OF_MEMORY);
            assertThatExceptionOfType(OutOfMemoryException.class)
                    .isThrownBy(() -> pages.map(range, page))
                    .withMessageContaining("cuMemSetAccess");
            assertThat(driver.controls().calls(CudaFunction.MEM_UNMAP)).isEqualTo(1);
            pages.map(range, page);
            pages.unmap(range);
            pages.release(page);
            pages.unreserve(range, GRANULARITY);
        }
    }

    /** A lack of memory would say that the page is not mapped, but it is. */
    @Test
    void aMappingThatCannotBeUndoneIsNoLackOfMemory() {
        try (SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build();
                DevicePagesFixture fixture = new DevicePagesFixture(driver, 0)) {
            final DevicePages pages = fixture.source();
            final long range = pages.reserve(GRANULARITY);
            final long page = pages.create(1);
            driver.controls().failOnCall(CudaFunction.MEM_SET_ACCESS, 1, CudaResult.OUT_OF_MEMORY);
            driver.controls().failOnCall(CudaFunction.MEM_UNMAP, 1, UNKNOWN_ERROR);
            assertThatExceptionOfType(DeviceException.class)
                    .isThrownBy(() -> pages.map(range, page))
                    .satisfies(e -> assertThat(e.getCause().getSuppressed()).hasSize(1));
            pages.unmap(range);
            assertThat(driver.controls().calls(CudaFunction.MEM_UNMAP)).isEqualTo(2);
            pages.release(page);
            pages.unreserve(range, GRANULARITY);
        }
    }

    /** Those of more pages than an array has elements: no driver is asked for them. */
    @Test
    void noAddressesAreReservedWhereTheirNumberOverflows() {
        try (SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build();
                DevicePagesFixture fixture = new DevicePagesFixture(driver, LARGE_PAGE)) {
            final DevicePages pages = fixture.source();
            final long most = LARGE_PAGE * (Integer.MAX_VALUE - 8L);
            LongStream.range(57, Long.SIZE)
                    .flatMap(bit -> LongStream.rangeClosed(-2, 2).map(by -> (1L << bit) + by))
                    .map(size -> size & Long.MAX_VALUE)
                    .filter(size -> size > 2)
                    .forEach(size -> assertThatExceptionOfType(OutOfMemoryException.class)
                            .isThrownBy(() -> pages.reserve(size)));
            assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> pages.reserve(most + LARGE_PAGE));
            assertThat(driver.controls().calls(CudaFunction.MEM_ADDRESS_RESERVE))
                    .isZero();
        }
    }

    @Test
    void everySizeOfPageHasAlignedAddressesOfItsOwn() {
        for (long pageBytes = GRANULARITY; pageBytes <= 1L << 40; pageBytes *= 2) {
            try (SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build();
                    DevicePagesFixture fixture = new DevicePagesFixture(driver, pageBytes)) {
                final DevicePages pages = fixture.source();
                final long first = pages.reserve(pageBytes);
                final long second = pages.reserve(2 * pageBytes);
                assertThat(first % pageBytes).isZero();
                assertThat(second % pageBytes).isZero();
                assertThat(second >= first + pageBytes || first >= second + 2 * pageBytes)
                        .isTrue();
                if (pageBytes <= LARGE_PAGE) { // the driver rejects what is outside the addresses
                    final long page = pages.create(1);
                    pages.map(second + pageBytes, page);
                    pages.unmap(second + pageBytes);
                    pages.release(page);
                }
                pages.unreserve(first, pageBytes);
                pages.unreserve(second, 2 * pageBytes);
            }
        }
    }

    @Test
    void pagesAreMemoryOfTheDevice() {
        try (SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build();
                DevicePagesFixture fixture = new DevicePagesFixture(driver, LARGE_PAGE)) {
            final DevicePages pages = fixture.source();
            final long free = fixture.freeBytes();
            final long range = pages.reserve(2 * LARGE_PAGE);
            assertThat(fixture.freeBytes()).isEqualTo(free);
            final long page = pages.create(1);
            pages.map(range, page);
            pages.map(range + LARGE_PAGE, page);
            assertThat(fixture.freeBytes()).isEqualTo(free - LARGE_PAGE);
            pages.unmap(range);
            pages.unmap(range + LARGE_PAGE);
            assertThat(fixture.freeBytes()).isEqualTo(free - LARGE_PAGE);
            pages.release(page);
            assertThat(fixture.freeBytes()).isEqualTo(free);
            pages.unreserve(range, 2 * LARGE_PAGE);
            assertThat(pages)
                    .asString()
                    .startsWith("pages of 33554432 bytes of ")
                    .endsWith(" (gpu:0)");
        }
    }

    @Test
    void aDeviceWithoutVirtualMemoryIsNamed() {
        try (SimulatedCudaDriver driver =
                SimulatedCudaDriver.builder().withoutVirtualMemory().build()) {
            assertThatExceptionOfType(UnsupportedMemoryException.class)
                    .isThrownBy(() -> open(driver, 0))
                    .withMessageContainingAll("gpu:0", "arena.policy=best-fit works there");
        }
    }

    @Test
    void anotherFailureToAskTheDeviceIsItsOwn() {
        try (SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build()) {
            driver.controls().failOnCall(CudaFunction.MEM_GET_ALLOCATION_GRANULARITY, 1, UNKNOWN_ERROR);
            assertThatExceptionOfType(DeviceException.class)
                    .isThrownBy(() -> open(driver, 0))
                    .withMessageContaining("cuMemGetAllocationGranularity");
        }
    }

    @Test
    void aPageIsAPowerOfTwoAndNoSmallerThanTheDriversSize() {
        try (SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build()) {
            for (long pageBytes : new long[] {-1, 4096, GRANULARITY / 2, 3 * GRANULARITY, Long.MIN_VALUE}) {
                assertThatIllegalArgumentException()
                        .isThrownBy(() -> open(driver, pageBytes))
                        .withMessageContainingAll("a page of " + pageBytes + " bytes", "" + GRANULARITY, "gpu:0");
            }
        }
    }

    @Test
    void whatIsNotReservedIsRefused() {
        try (SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build();
                DevicePagesFixture fixture = new DevicePagesFixture(driver, 0)) {
            final DevicePages pages = fixture.source();
            final long range = pages.reserve(2 * GRANULARITY);
            assertThatIllegalArgumentException().isThrownBy(() -> pages.unmap(range - GRANULARITY));
            assertThatIllegalArgumentException().isThrownBy(() -> pages.unmap(range + 2 * GRANULARITY));
            assertThatIllegalArgumentException().isThrownBy(() -> pages.unreserve(range, GRANULARITY));
            assertThatIllegalArgumentException().isThrownBy(() -> pages.unreserve(range + GRANULARITY, GRANULARITY));
            pages.unreserve(range, 2 * GRANULARITY);
            assertThatIllegalArgumentException().isThrownBy(() -> pages.unreserve(range, 2 * GRANULARITY));
        }
    }

    private static void open(CudaDriver driver, long pageBytes) {
        new DevicePagesFixture(driver, pageBytes).close();
    }
}
