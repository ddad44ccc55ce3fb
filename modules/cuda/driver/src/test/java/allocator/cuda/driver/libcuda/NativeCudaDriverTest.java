package allocator.cuda.driver.libcuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaDrivers;
import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.driver.PoolAttribute;
import allocator.testkit.Gpu;
import allocator.testkit.HeapUse;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUstreamCaptureMode;
import jcuda.driver.JCudaDriver;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Properties that only the installed driver has; skipped where there is no GPU, unless one is required. */
class NativeCudaDriverTest {
    private static final int DEVICE = 0;

    private CudaDriver driver;

    @BeforeEach
    void retainContext() {
        driver = CudaDrivers.probe().orElseThrow(Gpu::absent);
        driver.devices().primaryContextRetain(DEVICE);
    }

    @AfterEach
    void releaseContext() {
        if (driver != null) {
            driver.devices().primaryContextRelease(DEVICE);
        }
    }

    @Test
    void aContextThatAnotherLibraryMadeCurrentStaysCurrent() {
        final CUdevice device = new CUdevice();
        final CUcontext foreign = new CUcontext();
        JCudaDriver.cuDeviceGet(device, DEVICE);
        assertThat(JCudaDriver.cuCtxCreate(foreign, 0, device)).isZero();
        try {
            final long address = driver.memory().memAlloc(DEVICE, 1);
            assertThat(current()).isEqualTo(foreign);
            driver.memory().memGetInfo(DEVICE);
            assertThat(current()).isEqualTo(foreign);
            driver.memory().memFree(DEVICE, address);
            assertThatThrownBy(() -> driver.memory().memFree(DEVICE, address)).isInstanceOf(CudaException.class);
            assertThat(current()).isEqualTo(foreign);
        } finally {
            JCudaDriver.cuCtxDestroy(foreign);
        }
    }

    private static CUcontext current() {
        final CUcontext current = new CUcontext();
        JCudaDriver.cuCtxGetCurrent(current);
        return current;
    }

    @Test
    void theCaptureModeOfTheThreadStays() {
        final int threadLocal = CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        final int before = exchangeCaptureMode(threadLocal);
        try {
            final long stream = driver.streams().streamCreate(DEVICE);
            final long pool = driver.pools().memPoolCreate(DEVICE);
            driver.pools()
                    .memFreeAsync(DEVICE, driver.pools().memAllocFromPoolAsync(DEVICE, pool, 4096, stream), stream);
            assertThatThrownBy(() -> driver.pools().memAllocFromPoolAsync(DEVICE, pool, Long.MAX_VALUE, stream))
                    .isInstanceOf(CudaException.class);
            assertThatThrownBy(() -> driver.memory().memFree(DEVICE, 1)).isInstanceOf(CudaException.class);
            driver.devices().ctxSynchronize(DEVICE);
            driver.pools().memPoolDestroy(DEVICE, pool);
            driver.streams().streamDestroy(DEVICE, stream);
        } finally {
            assertThat(exchangeCaptureMode(before)).isEqualTo(threadLocal);
        }
    }

    private static int exchangeCaptureMode(int mode) {
        final int[] exchanged = {mode};
        assertThat(JCudaDriver.cuThreadExchangeStreamCaptureMode(exchanged)).isZero();
        return exchanged[0];
    }

    @Test
    void exceptionsOfJCudaBecomeCudaExceptions() {
        JCudaDriver.setExceptionsEnabled(true);
        try {
            assertThatThrownBy(() -> driver.addressRanges().memAddressReserve(DEVICE, Long.MAX_VALUE))
                    .isInstanceOfSatisfying(CudaException.class, e -> {
                        assertThat(e.function()).isEqualTo(CudaFunction.MEM_ADDRESS_RESERVE);
                        assertThat(e.result()).isIn(CudaResult.INVALID_VALUE, CudaResult.OUT_OF_MEMORY);
                    });
        } finally {
            JCudaDriver.setExceptionsEnabled(false);
        }
    }

    @Test
    void pinnedMemoryMayBeLargerThanABuffer() {
        final long byteSize = (2L << 30) + 4096;
        driver.memory().memFreeHost(DEVICE, driver.memory().memHostAlloc(DEVICE, byteSize, true));
    }

    @Test
    void hotCallsCreateNoObjects() {
        final long stream = driver.streams().streamCreate(DEVICE);
        final long other = driver.streams().streamCreate(DEVICE);
        final long event = driver.streams().eventCreate(DEVICE);
        final long pool = driver.pools().memPoolCreate(DEVICE);
        driver.pools().memPoolSetAttribute(DEVICE, pool, PoolAttribute.RELEASE_THRESHOLD, Long.MAX_VALUE);
        final Runnable calls = () -> {
            driver.memory().memFree(DEVICE, driver.memory().memAlloc(DEVICE, 4096));
            driver.pools()
                    .memFreeAsync(DEVICE, driver.pools().memAllocFromPoolAsync(DEVICE, pool, 4096, stream), stream);
            driver.streams().eventRecord(DEVICE, event, stream);
            driver.streams().streamWaitEvent(DEVICE, other, event);
            driver.streams().eventQuery(DEVICE, event);
        };
        final int count = 10_000;
        repeat(calls, count);
        final long before = HeapUse.ofThisThread();
        repeat(calls, count);
        assertThat((HeapUse.ofThisThread() - before) / count).isZero();
        driver.devices().ctxSynchronize(DEVICE);
        driver.pools().memPoolDestroy(DEVICE, pool);
        driver.streams().eventDestroy(DEVICE, event);
        driver.streams().streamDestroy(DEVICE, stream);
        driver.streams().streamDestroy(DEVICE, other);
    }

    private static void repeat(Runnable calls, int count) {
        for (int i = 0; i < count; i++) {
            calls.run();
        }
    }
}
