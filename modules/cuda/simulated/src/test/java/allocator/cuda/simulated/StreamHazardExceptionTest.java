package allocator.cuda.simulated;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.cuda.driver.MemoryAccess;
import allocator.spi.StreamHazardException;
import java.lang.foreign.Arena;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** Which accesses of streams to the same memory are hazards. */
class StreamHazardExceptionTest {
    private static final long MIB = 1L << 20;

    private static SimulatedCudaDriver.Builder oneDevice() {
        return SimulatedCudaDriver.builder().withMemory(1024 * MIB);
    }

    private static SimulatedCudaDriver lagging() {
        final SimulatedCudaDriver driver = oneDevice().withLaggingStreams().build();
        driver.devices().primaryContextRetain(0);
        return driver;
    }

    @Test
    void useBeforeTheAllocationIsCompleteIsAHazard() {
        final SimulatedCudaDriver driver = lagging();
        final long producer = driver.streams().streamCreate(0);
        final long consumer = driver.streams().streamCreate(0);
        final long pool = driver.pools().memPoolCreate(0);
        final long address = driver.pools().memAllocFromPoolAsync(0, pool, MIB, producer);
        assertHazard(
                () -> driver.memory().memsetD8Async(0, address, (byte) 0, 1, consumer),
                "use before ready on gpu:0: cuMemsetD8Async on stream %d of device 0"
                        .formatted(driver.streams().streamGetId(0, consumer)),
                "cuMemAllocFromPoolAsync on stream %d of device 0"
                        .formatted(driver.streams().streamGetId(0, producer)),
                "%#x".formatted(address));
        assertThat(driver.controls().hazards()).hasSize(1);
        assertThatIllegalStateException().isThrownBy(driver::close).withMessageContaining("cuMemsetD8Async");
    }

    @Test
    void reuseWhileInFlightIsAHazard() {
        final SimulatedCudaDriver driver = lagging();
        final long first = driver.streams().streamCreate(0);
        final long second = driver.streams().streamCreate(0);
        final long region = driver.memory().memAlloc(0, MIB);
        driver.memory().memsetD8Async(0, region, (byte) 1, 4096, first);
        driver.memory().memsetD8Async(0, region + 4096, (byte) 2, 4096, second);
        assertHazard(
                () -> driver.memory().memsetD8Async(0, region + 4095, (byte) 2, 1, second),
                "reuse in flight",
                "4096 bytes at");
    }

    /** The driver has read it when the call returns. */
    @Test
    void pageableMemoryMayBeReusedAfterACopyFromIt() {
        final SimulatedCudaDriver driver = lagging();
        final long stream = driver.streams().streamCreate(0);
        final long region = driver.memory().memAlloc(0, 2 * MIB);
        try (Arena arena = Arena.ofConfined()) {
            final long host = arena.allocate(4096).address();
            driver.memory().memcpyHtoDAsync(0, region, host, 4096, stream);
            driver.memory().memcpyDtoH(0, host, region + MIB, 4096);
        }
        assertThat(driver.controls().hazards()).isEmpty();
    }

    @Test
    void freeWhileInUseIsAHazard() {
        final SimulatedCudaDriver driver = lagging();
        final long user = driver.streams().streamCreate(0);
        final long other = driver.streams().streamCreate(0);
        final long pool = driver.pools().memPoolCreate(0);
        final long address = driver.pools().memAllocFromPoolAsync(0, pool, MIB, user);
        assertHazard(
                () -> driver.pools().memFreeAsync(0, address, other), "free while in use", "cuMemFreeAsync on stream");
        driver.pools().memFreeAsync(0, address, user);
    }

    @Test
    void useAfterFreeIsAHazard() {
        final SimulatedCudaDriver driver = lagging();
        final long stream = driver.streams().streamCreate(0);
        final long pool = driver.pools().memPoolCreate(0);
        final long address = driver.pools().memAllocFromPoolAsync(0, pool, MIB, stream);
        driver.pools().memFreeAsync(0, address, stream);
        assertHazard(
                () -> driver.memory().memsetD8Async(0, address, (byte) 0, 1, stream),
                "use after free on gpu:0: cuMemsetD8Async",
                "but cuMemFreeAsync on stream");
    }

    @Test
    void unmappingInUseIsAHazard() {
        final SimulatedCudaDriver driver = lagging();
        final long stream = driver.streams().streamCreate(0);
        final long granule = driver.addressRanges().memGetAllocationGranularity(0);
        final long range = driver.addressRanges().memAddressReserve(0, granule);
        final long memory = driver.addressRanges().memCreate(0, granule);
        driver.addressRanges().memMap(0, range, granule, memory);
        driver.addressRanges().memSetAccess(0, range, granule, MemoryAccess.READ_WRITE);
        driver.memory().memsetD8Async(0, range, (byte) 0, 1, stream);
        assertHazard(() -> driver.addressRanges().memUnmap(0, range, granule), "cuMemUnmap on the host");
        driver.streams().streamSynchronize(0, stream);
        driver.addressRanges().memUnmap(0, range, granule);
    }

    @Test
    void bothCallSitesAreThere() {
        final SimulatedCudaDriver driver = lagging();
        final long first = driver.streams().streamCreate(0);
        final long second = driver.streams().streamCreate(0);
        final long region = driver.memory().memAlloc(0, MIB);
        write(driver, region, first);
        assertThatThrownBy(() -> writeAgain(driver, region, second))
                .isInstanceOfSatisfying(StreamHazardException.class, hazard -> {
                    assertThat(hazard.kind()).isEqualTo(StreamHazardException.Kind.REUSE_IN_FLIGHT);
                    assertThat(hazard.address()).isEqualTo(region);
                    assertThat(hazard.byteSize()).isEqualTo(512);
                    assertThat(hazard.getStackTrace())
                            .extracting(StackTraceElement::getMethodName)
                            .contains("writeAgain")
                            .doesNotContain("write");
                    assertThat(hazard.getCause().getStackTrace())
                            .extracting(StackTraceElement::getMethodName)
                            .contains("write")
                            .doesNotContain("writeAgain");
                })
                .hasMessageContaining("on %s", stream(driver, first))
                .hasMessageEndingWith(
                        "Record an event on %s after the earlier one, and make %s wait for it.",
                        stream(driver, first), stream(driver, second));
    }

    private static String stream(SimulatedCudaDriver driver, long handle) {
        return "stream %d of device 0 (handle %#x)".formatted(driver.streams().streamGetId(0, handle), handle);
    }

    private static void write(SimulatedCudaDriver driver, long address, long stream) {
        driver.memory().memsetD8Async(0, address, (byte) 1, 4096, stream);
    }

    private static void writeAgain(SimulatedCudaDriver driver, long address, long stream) {
        driver.memory().memsetD8Async(0, address, (byte) 2, 512, stream);
    }

    @Test
    void theRestOfFreedMemoryStaysFreedWhenPartOfItIsAllocatedAgain() {
        final SimulatedCudaDriver driver = lagging();
        final long stream = driver.streams().streamCreate(0);
        final long pool = driver.pools().memPoolCreate(0);
        final long address = driver.pools().memAllocFromPoolAsync(0, pool, 4096, stream);
        driver.pools().memFreeAsync(0, address, stream);
        assertThat(driver.pools().memAllocFromPoolAsync(0, pool, 1024, stream)).isEqualTo(address);
        driver.memory().memsetD8Async(0, address, (byte) 0, 1024, stream);
        assertHazard(
                () -> driver.memory().memsetD8Async(0, address + 1024, (byte) 0, 1, stream),
                "use after free on gpu:0: cuMemsetD8Async",
                "4096 bytes at %#x".formatted(address));
    }

    @Test
    void theCallSiteOfAFreeIsForgottenOnceTheMemoryIsAllocatedAgain() {
        final SimulatedCudaDriver driver = lagging();
        final long stream = driver.streams().streamCreate(0);
        final long pool = driver.pools().memPoolCreate(0);
        final long first = driver.pools().memAllocFromPoolAsync(0, pool, MIB, stream);
        driver.pools().memFreeAsync(0, first, stream);
        final long second = driver.pools().memAllocFromPoolAsync(0, pool, MIB / 2, stream);
        assertThat(second).isEqualTo(first);
        driver.pools().memFreeAsync(0, second, stream);
        assertHazard(
                () -> driver.memory().memsetD8Async(0, second, (byte) 0, 1, stream),
                "cuMemFreeAsync on stream",
                "of 524288 bytes");
    }

    @Test
    void takenHazardsAreNotReportedAtTheEnd() {
        final SimulatedCudaDriver driver = lagging();
        final long first = driver.streams().streamCreate(0);
        final long second = driver.streams().streamCreate(0);
        final long region = driver.memory().memAlloc(0, MIB);
        write(driver, region, first);
        assertHazard(() -> writeAgain(driver, region, second), "reuse in flight");
        assertThat(driver.controls().takeHazards()).singleElement().asString().contains("reuse in flight");
        assertThat(driver.controls().hazards()).isEmpty();
        driver.memory().memFree(0, region);
        driver.streams().streamDestroy(0, first);
        driver.streams().streamDestroy(0, second);
        driver.devices().primaryContextRelease(0);
        driver.close();
    }

    @Test
    void twoReadersAreNoHazard() {
        final SimulatedCudaDriver driver = lagging();
        final long first = driver.streams().streamCreate(0);
        final long second = driver.streams().streamCreate(0);
        final long source = driver.memory().memAlloc(0, MIB);
        final long target = driver.memory().memAlloc(0, 2 * MIB);
        driver.memory().memcpyDtoDAsync(0, target, source, MIB, first);
        driver.memory().memcpyDtoDAsync(0, target + MIB, source, MIB, second);
        assertThat(driver.controls().hazards()).isEmpty();
    }

    @Test
    void anEventOrdersTransitively() {
        final SimulatedCudaDriver driver = lagging();
        final long event = driver.streams().eventCreate(0);
        final long region = driver.memory().memAlloc(0, MIB);
        long before = driver.streams().streamCreate(0);
        for (int i = 0; i < 3; i++) {
            driver.memory().memsetD8Async(0, region, (byte) i, MIB, before);
            driver.streams().eventRecord(0, event, before);
            final long after = driver.streams().streamCreate(0);
            driver.streams().streamWaitEvent(0, after, event);
            before = after;
        }
        driver.memory().memsetD8Async(0, region, (byte) 3, MIB, before);
        assertThat(driver.controls().hazards()).isEmpty();
    }

    @Test
    void completedWorkIsNoHazard() {
        final SimulatedCudaDriver driver = lagging();
        final long first = driver.streams().streamCreate(0);
        final long second = driver.streams().streamCreate(0);
        final long region = driver.memory().memAlloc(0, MIB);
        driver.memory().memsetD8Async(0, region, (byte) 1, MIB, first);
        driver.controls().advance(first);
        driver.memory().memsetD8Async(0, region, (byte) 2, MIB, second);
        assertThat(driver.controls().hazards()).isEmpty();
    }

    private static void assertHazard(ThrowingCallable call, String... parts) {
        assertThatThrownBy(call).isInstanceOf(StreamHazardException.class).hasMessageContainingAll(parts);
    }
}
