package allocator.cuda.simulated;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.cuda.driver.CudaDeviceInfo;
import allocator.cuda.driver.CudaResult;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** Devices and primary contexts. */
abstract class CudaDevicesContract extends CudaContract {
    CudaDevicesContract(Supplier<? extends TestDriver> open) {
        super(open);
    }

    @Test
    void theDeviceReportsItsProperties() {
        final CudaDeviceInfo info = driver().devices().info(DEVICE);
        assertThat(driver().devices().driverVersion()).isGreaterThanOrEqualTo(12_000);
        assertThat(info.ordinal()).isZero();
        assertThat(info.name()).isNotBlank();
        assertThat(info.uuid().getMostSignificantBits()).isNotZero();
        assertThat(info.pciBusId()).matches("[0-9a-fA-F]+:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\\.\\d");
        assertThat(info.totalByteSize()).isGreaterThan(1024 * MIB);
        assertThat(info.computeCapability()).isGreaterThanOrEqualTo(50);
    }

    @Test
    void anOrdinalOutOfRangeIsRejected() {
        for (int device : new int[] {-1, driver().devices().count(), Integer.MAX_VALUE}) {
            assertFails(CudaResult.INVALID_DEVICE, () -> driver().devices().info(device));
            assertFails(CudaResult.INVALID_DEVICE, () -> driver().devices().primaryContextRetain(device));
            assertFails(CudaResult.INVALID_DEVICE, () -> driver().devices().primaryContextRelease(device));
            assertFails(CudaResult.INVALID_DEVICE, () -> driver().memory().memAlloc(device, 1));
            assertFails(CudaResult.INVALID_DEVICE, () -> driver().streams().streamCreate(device));
        }
    }

    @Test
    void withoutContextCallsFail() {
        driver().devices().primaryContextRelease(DEVICE);
        try {
            assertFails(CudaResult.INVALID_CONTEXT, () -> driver().memory().memAlloc(DEVICE, 1));
            assertFails(CudaResult.INVALID_CONTEXT, () -> driver().pools().memPoolCreate(DEVICE));
            assertFails(CudaResult.INVALID_CONTEXT, () -> driver().devices().primaryContextRelease(DEVICE));
        } finally {
            driver().devices().primaryContextRetain(DEVICE);
        }
        driver().memory().memFree(DEVICE, driver().memory().memAlloc(DEVICE, 1));
    }

    @Test
    void theContextLivesUntilItsLastRelease() {
        driver().devices().primaryContextRetain(DEVICE);
        final long address = driver().memory().memAlloc(DEVICE, 1);
        driver().devices().primaryContextRelease(DEVICE);
        driver().memory().memFree(DEVICE, address);
    }

    @Test
    void aDeviceIsNoPeerOfItself() {
        assertThat(driver().devices().deviceCanAccessPeer(DEVICE, DEVICE)).isFalse();
    }

    @Test
    void theGroupsAreTheSameObjectsAtEveryCall() {
        assertThat(driver().devices()).isSameAs(driver().devices());
        assertThat(driver().memory()).isSameAs(driver().memory());
        assertThat(driver().pools()).isSameAs(driver().pools());
        assertThat(driver().addressRanges()).isSameAs(driver().addressRanges());
        assertThat(driver().streams()).isSameAs(driver().streams());
    }
}
