package allocator.cuda.simulated;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.cuda.driver.CudaResult;
import allocator.cuda.driver.MemoryAccess;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Address ranges and physical memory. */
abstract class CudaAddressRangesContract extends CudaContract {
    CudaAddressRangesContract(Supplier<? extends TestDriver> open) {
        super(open);
    }

    @Test
    void theGranularityIsAPowerOfTwo() {
        assertThat(Long.bitCount(driver().addressRanges().memGetAllocationGranularity(DEVICE)))
                .isEqualTo(1);
    }

    @Test
    void aRangeLargerThanTheDeviceTakesNoMemory() {
        final long byteSize = roundUp(2 * driver().devices().info(DEVICE).totalByteSize());
        final long free = driver().memory().memGetInfo(DEVICE).freeByteSize();
        final long range = driver().addressRanges().memAddressReserve(DEVICE, byteSize);
        assertThat(driver().memory().memGetInfo(DEVICE).freeByteSize()).isGreaterThan(free - 64 * MIB);
        driver().addressRanges().memAddressFree(DEVICE, range, byteSize);
    }

    @Test
    void physicalMemoryMayHaveTwoAddresses() {
        final long granule = driver().addressRanges().memGetAllocationGranularity(DEVICE);
        final long range = driver().addressRanges().memAddressReserve(DEVICE, 2 * granule);
        final long memory = driver().addressRanges().memCreate(DEVICE, granule);
        driver().addressRanges().memMap(DEVICE, range, granule, memory);
        driver().addressRanges().memMap(DEVICE, range + granule, granule, memory);
        driver().addressRanges().memSetAccess(DEVICE, range, 2 * granule, MemoryAccess.READ_WRITE);
        driver().memory().memsetD8(DEVICE, range, (byte) 11, granule);
        assertThat(firstByte(range + granule)).isEqualTo((byte) 11);
        driver().devices().ctxSynchronize(DEVICE);
        driver().addressRanges().memUnmap(DEVICE, range, granule);
        driver().addressRanges().memUnmap(DEVICE, range + granule, granule);
        driver().addressRanges().memRelease(DEVICE, memory);
        driver().addressRanges().memAddressFree(DEVICE, range, 2 * granule);
    }

    @Test
    void aMappingThatCanOnlyBeReadShowsWhatAnotherOneWrites() {
        final long granule = driver().addressRanges().memGetAllocationGranularity(DEVICE);
        final long range = driver().addressRanges().memAddressReserve(DEVICE, 3 * granule);
        final long memory = driver().addressRanges().memCreate(DEVICE, granule);
        for (int i = 0; i < 3; i++) {
            driver().addressRanges().memMap(DEVICE, range + i * granule, granule, memory);
        }
        driver().addressRanges().memSetAccess(DEVICE, range, 3 * granule, MemoryAccess.READ_WRITE);
        driver().addressRanges().memSetAccess(DEVICE, range + granule, 2 * granule, MemoryAccess.READ);
        driver().memory().memsetD8(DEVICE, range, (byte) 7, granule);
        driver().devices().ctxSynchronize(DEVICE);
        assertThat(firstByte(range + granule)).isEqualTo((byte) 7);
        assertThat(firstByte(range + 3 * granule - 1)).isEqualTo((byte) 7);
        driver().addressRanges().memUnmap(DEVICE, range, 3 * granule);
        driver().addressRanges().memRelease(DEVICE, memory);
        driver().addressRanges().memAddressFree(DEVICE, range, 3 * granule);
    }

    @Test
    void aRangeGrowsInPlace() {
        final long granule = driver().addressRanges().memGetAllocationGranularity(DEVICE);
        final long range = driver().addressRanges().memAddressReserve(DEVICE, 4 * granule);
        final long first = driver().addressRanges().memCreate(DEVICE, granule);
        final long second = driver().addressRanges().memCreate(DEVICE, 2 * granule);
        driver().addressRanges().memMap(DEVICE, range, granule, first);
        driver().addressRanges().memSetAccess(DEVICE, range, granule, MemoryAccess.READ_WRITE);
        driver().memory().memsetD8(DEVICE, range, (byte) 1, granule);
        driver().addressRanges().memMap(DEVICE, range + granule, 2 * granule, second);
        driver().addressRanges().memSetAccess(DEVICE, range + granule, 2 * granule, MemoryAccess.READ_WRITE);
        driver().memory().memsetD8(DEVICE, range + granule - 1, (byte) 2, 2 * granule);
        assertThat(firstByte(range)).isEqualTo((byte) 1);
        assertThat(firstByte(range + granule - 1)).isEqualTo((byte) 2);
        assertThat(firstByte(range + 2 * granule)).isEqualTo((byte) 2);
        driver().devices().ctxSynchronize(DEVICE);
        driver().addressRanges().memUnmap(DEVICE, range, 3 * granule);
        driver().addressRanges().memRelease(DEVICE, first);
        driver().addressRanges().memRelease(DEVICE, second);
        driver().addressRanges().memAddressFree(DEVICE, range, 4 * granule);
    }

    /** Other processes may take and return memory of the device in between; not each time. */
    @Test
    void aHandleMayBeReleasedWhileItsMemoryIsMapped() {
        assertThat(IntStream.range(0, 10).anyMatch(time -> isHeldUntilItIsUnmapped()))
                .isTrue();
    }

    private boolean isHeldUntilItIsUnmapped() {
        final long byteSize = roundUp(256 * MIB);
        final long range = driver().addressRanges().memAddressReserve(DEVICE, byteSize);
        final long before = driver().memory().memGetInfo(DEVICE).freeByteSize();
        final long memory = driver().addressRanges().memCreate(DEVICE, byteSize);
        driver().addressRanges().memMap(DEVICE, range, byteSize, memory);
        driver().addressRanges().memSetAccess(DEVICE, range, byteSize, MemoryAccess.READ_WRITE);
        driver().addressRanges().memRelease(DEVICE, memory);
        driver().memory().memsetD8(DEVICE, range, (byte) 3, byteSize);
        assertThat(firstByte(range)).isEqualTo((byte) 3);
        driver().devices().ctxSynchronize(DEVICE);
        final long mapped = driver().memory().memGetInfo(DEVICE).freeByteSize();
        driver().addressRanges().memUnmap(DEVICE, range, byteSize);
        final long after = driver().memory().memGetInfo(DEVICE).freeByteSize();
        driver().addressRanges().memAddressFree(DEVICE, range, byteSize);
        return mapped <= before - byteSize && after > before - byteSize;
    }

    @Test
    void physicalMemoryRunsOutAndComesBack() {
        final long tooMuch = roundUp(10 * driver().devices().info(DEVICE).totalByteSize());
        assertFails(CudaResult.OUT_OF_MEMORY, () -> driver().addressRanges().memCreate(DEVICE, tooMuch));
        assertFails(CudaResult.INVALID_VALUE, () -> driver().addressRanges().memCreate(DEVICE, 1000));
        driver().addressRanges()
                .memRelease(
                        DEVICE,
                        driver().addressRanges()
                                .memCreate(DEVICE, driver().addressRanges().memGetAllocationGranularity(DEVICE)));
    }

    private long roundUp(long byteSize) {
        final long granule = driver().addressRanges().memGetAllocationGranularity(DEVICE);
        return (byteSize + granule - 1) / granule * granule;
    }
}
