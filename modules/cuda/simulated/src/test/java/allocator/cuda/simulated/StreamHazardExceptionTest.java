package allocator.cuda.simulated;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.cuda.driver.MemoryAccess;
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
                "cuMemsetD8Async on stream %d of device 0"
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
        assertHazard(() -> driver.memory().memsetD8Async(0, region + 4095, (byte) 2, 1, second), "4096 bytes at");
    }

    @Test
    void freeWhileInUseIsAHazard() {
        final SimulatedCudaDriver driver = lagging();
        final long user = driver.streams().streamCreate(0);
        final long other = driver.streams().streamCreate(0);
        final long pool = driver.pools().memPoolCreate(0);
        final long address = driver.pools().memAllocFromPoolAsync(0, pool, MIB, user);
        assertHazard(() -> driver.pools().memFreeAsync(0, address, other), "cuMemFreeAsync on stream");
        driver.pools().memFreeAsync(0, address, user);
    }

    @Test
    void useAfterFreeIsAHazard() {
        final SimulatedCudaDriver driver = lagging();
        final long stream = driver.streams().streamCreate(0);
        final long pool = driver.pools().memPoolCreate(0);
        final long address = driver.pools().memAllocFromPoolAsync(0, pool, MIB, stream);
        driver.pools().memFreeAsync(0, address, stream);
        assertHazard(() -> driver.memory().memsetD8Async(0, address, (byte) 0, 1, stream), "which was freed");
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
