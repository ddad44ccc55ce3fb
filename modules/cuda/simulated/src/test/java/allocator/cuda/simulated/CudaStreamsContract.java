package allocator.cuda.simulated;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.cuda.driver.CudaResult;
import allocator.cuda.driver.MemoryAccess;
import allocator.cuda.driver.PoolAttribute;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** Streams and events. */
abstract class CudaStreamsContract extends CudaContract {
    CudaStreamsContract(Supplier<? extends TestDriver> open) {
        super(open);
    }

    @Test
    void streamIdsAreNeverReused() {
        final Set<Long> ids = new HashSet<>();
        for (int i = 0; i < 20; i++) {
            final long stream = driver().streams().streamCreate(DEVICE);
            assertThat(ids.add(driver().streams().streamGetId(DEVICE, stream))).isTrue();
            assertThat(driver().streams().streamGetId(DEVICE, stream))
                    .isEqualTo(driver().streams().streamGetId(DEVICE, stream));
            driver().streams().streamDestroy(DEVICE, stream);
        }
        assertFails(CudaResult.INVALID_HANDLE, () -> driver().streams().streamDestroy(DEVICE, DEFAULT_STREAM));
    }

    @Test
    void anEventThatWasNeverRecordedIsComplete() {
        final long event = driver().streams().eventCreate(DEVICE);
        assertThat(driver().streams().eventQuery(DEVICE, event)).isTrue();
        driver().streams().eventSynchronize(DEVICE, event);
        driver().streams().eventDestroy(DEVICE, event);
    }

    @Test
    void anEventIsCompleteWhenAllBeforeItIs() {
        final long stream = driver().streams().streamCreate(DEVICE);
        final long event = driver().streams().eventCreate(DEVICE);
        final AtomicInteger calls = new AtomicInteger();
        try (Stall _ = stall(stream)) {
            driver().streams().launchHostFunction(DEVICE, stream, calls::incrementAndGet);
            driver().streams().eventRecord(DEVICE, event, stream);
            assertThat(driver().streams().eventQuery(DEVICE, event)).isFalse();
            assertThat(driver().streams().streamQuery(DEVICE, stream)).isFalse();
            assertThat(calls).hasValue(0);
        }
        driver().streams().eventSynchronize(DEVICE, event);
        assertThat(driver().streams().eventQuery(DEVICE, event)).isTrue();
        assertThat(calls).hasValue(1);
        driver().streams().streamSynchronize(DEVICE, stream);
        assertThat(driver().streams().streamQuery(DEVICE, stream)).isTrue();
        driver().streams().eventDestroy(DEVICE, event);
        driver().streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void aStreamWaitsForAnEventOfAnother() {
        final long first = driver().streams().streamCreate(DEVICE);
        final long second = driver().streams().streamCreate(DEVICE);
        final long event = driver().streams().eventCreate(DEVICE);
        final List<String> order = Collections.synchronizedList(new ArrayList<>());
        try (Stall _ = stall(first)) {
            driver().streams().launchHostFunction(DEVICE, first, () -> order.add("first"));
            driver().streams().eventRecord(DEVICE, event, first);
            driver().streams().streamWaitEvent(DEVICE, second, event);
            driver().streams().launchHostFunction(DEVICE, second, () -> order.add("second"));
            assertThat(driver().streams().streamQuery(DEVICE, second)).isFalse();
        }
        driver().streams().streamSynchronize(DEVICE, second);
        assertThat(order).containsExactly("first", "second");
        driver().streams().eventDestroy(DEVICE, event);
        driver().streams().streamDestroy(DEVICE, first);
        driver().streams().streamDestroy(DEVICE, second);
    }

    @Test
    void aWaitIsForTheLastRecordingBeforeIt() {
        final long first = driver().streams().streamCreate(DEVICE);
        final long second = driver().streams().streamCreate(DEVICE);
        final long event = driver().streams().eventCreate(DEVICE);
        driver().streams().eventRecord(DEVICE, event, first);
        driver().streams().streamWaitEvent(DEVICE, second, event);
        try (Stall _ = stall(first)) {
            driver().streams().eventRecord(DEVICE, event, first);
            driver().streams().streamSynchronize(DEVICE, second);
            assertThat(driver().streams().eventQuery(DEVICE, event)).isFalse();
            driver().streams().eventDestroy(DEVICE, event);
        }
        driver().streams().streamSynchronize(DEVICE, first);
        driver().streams().streamDestroy(DEVICE, first);
        driver().streams().streamDestroy(DEVICE, second);
    }

    @Test
    void hostFunctionsRunInOrderAndMayFail() {
        final long stream = driver().streams().streamCreate(DEVICE);
        final List<Integer> order = Collections.synchronizedList(new ArrayList<>());
        for (int i = 0; i < 100; i++) {
            final int number = i;
            driver().streams().launchHostFunction(DEVICE, stream, () -> order.add(number));
            if (i == 50) {
                driver().streams().launchHostFunction(DEVICE, stream, () -> {
                    throw new IllegalStateException("thrown on purpose");
                });
            }
        }
        driver().streams().streamSynchronize(DEVICE, stream);
        assertThat(order).hasSize(100).isSorted();
        driver().streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void aStreamHasTheContextOfItsDevice() {
        final long stream = driver().streams().streamCreate(DEVICE);
        final long context = driver().devices().ctxGetCurrent(DEVICE);
        assertThat(driver().streams().streamGetCtx(DEVICE, stream)).isEqualTo(context);
        assertThat(driver().streams().streamGetCtx(DEVICE, DEFAULT_STREAM)).isEqualTo(context);
        assertThat(driver().devices().ctxGetDevice(DEVICE, context)).isEqualTo(DEVICE);
        driver().streams().streamDestroy(DEVICE, stream);
    }

    /** The capture of a stream, which ends also if the test fails. */
    private final class Capture implements AutoCloseable {
        private final long stream;

        Capture(long stream) {
            this.stream = stream;
            driver().streams().streamBeginCapture(DEVICE, stream);
        }

        @Override
        public void close() {
            driver().streams().graphDestroy(DEVICE, driver().streams().streamEndCapture(DEVICE, stream));
        }
    }

    private void assertInvalidatesACapture(long stream, ThrowingCallable call) {
        final Capture capture = new Capture(stream);
        try {
            assertFails(CudaResult.STREAM_CAPTURE_UNSUPPORTED, call);
            assertThat(driver().streams().streamIsCapturing(DEVICE, stream)).isTrue();
        } finally {
            assertFails(CudaResult.STREAM_CAPTURE_INVALIDATED, capture::close);
        }
    }

    @Test
    void aCaptureEndsInAGraphAndDoesNoWork() {
        final long stream = driver().streams().streamCreate(DEVICE);
        final AtomicInteger calls = new AtomicInteger();
        assertThat(driver().streams().streamIsCapturing(DEVICE, stream)).isFalse();
        try (Capture _ = new Capture(stream)) {
            assertThat(driver().streams().streamIsCapturing(DEVICE, stream)).isTrue();
            driver().streams().launchHostFunction(DEVICE, stream, calls::incrementAndGet);
        }
        assertThat(driver().streams().streamIsCapturing(DEVICE, stream)).isFalse();
        driver().streams().streamSynchronize(DEVICE, stream);
        assertThat(calls).hasValue(0);
        driver().streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void memoryIsAllocatedAndFreedDuringACapture() {
        final long stream = driver().streams().streamCreate(DEVICE);
        try (Capture _ = new Capture(stream)) {
            final long address = driver().memory().memAlloc(DEVICE, MIB);
            final long pinned = driver().memory().memHostAlloc(DEVICE, MIB, true);
            driver().memory().memFreeHost(DEVICE, pinned);
            driver().memory().memFree(DEVICE, address);
        }
        driver().streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void aStreamThatWaitsForACapturedOneIsCapturedToo() {
        final long first = driver().streams().streamCreate(DEVICE);
        final long second = driver().streams().streamCreate(DEVICE);
        final long fork = driver().streams().eventCreate(DEVICE);
        final long join = driver().streams().eventCreate(DEVICE);
        try (Capture _ = new Capture(first)) {
            driver().streams().eventRecord(DEVICE, fork, first);
            driver().streams().streamWaitEvent(DEVICE, second, fork);
            assertThat(driver().streams().streamIsCapturing(DEVICE, second)).isTrue();
            driver().streams().eventRecord(DEVICE, join, second);
            driver().streams().streamWaitEvent(DEVICE, first, join);
        }
        assertThat(driver().streams().streamIsCapturing(DEVICE, second)).isFalse();
        driver().streams().eventDestroy(DEVICE, fork);
        driver().streams().eventDestroy(DEVICE, join);
        driver().streams().streamDestroy(DEVICE, first);
        driver().streams().streamDestroy(DEVICE, second);
    }

    @Test
    void waitingForACapturedStreamInvalidatesTheCapture() {
        final long stream = driver().streams().streamCreate(DEVICE);
        assertInvalidatesACapture(stream, () -> driver().streams().streamSynchronize(DEVICE, stream));
        driver().streams().streamSynchronize(DEVICE, stream);
        driver().streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void waitingForTheDeviceInvalidatesTheCapture() {
        final long stream = driver().streams().streamCreate(DEVICE);
        assertInvalidatesACapture(stream, () -> driver().devices().ctxSynchronize(DEVICE));
        driver().streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void poolsAreUsedDuringACapture() {
        final long stream = driver().streams().streamCreate(DEVICE);
        final long other = driver().streams().streamCreate(DEVICE);
        final long pool = retainingPool();
        try (Capture _ = new Capture(stream)) {
            final long block = driver().pools().memAllocFromPoolAsync(DEVICE, pool, MIB, other);
            driver().pools().memFreeAsync(DEVICE, block, other);
            driver().streams().streamSynchronize(DEVICE, other);
            assertThat(attribute(pool, PoolAttribute.USED_MEM_CURRENT)).isZero();
            driver().pools().memPoolTrimTo(DEVICE, pool, 0);
            assertThat(driver().pools().deviceGetDefaultMemPool(DEVICE)).isNotEqualTo(pool);
            driver().pools().memPoolDestroy(DEVICE, driver().pools().memPoolCreate(DEVICE));
        }
        driver().pools().memPoolDestroy(DEVICE, pool);
        driver().streams().streamDestroy(DEVICE, stream);
        driver().streams().streamDestroy(DEVICE, other);
    }

    @Test
    void anotherThreadUsesAPoolDuringACapture() {
        final long stream = driver().streams().streamCreate(DEVICE);
        final long other = driver().streams().streamCreate(DEVICE);
        final long pool = retainingPool();
        try (Capture _ = new Capture(stream)) {
            CompletableFuture.runAsync(() -> {
                        final long block = driver().pools().memAllocFromPoolAsync(DEVICE, pool, MIB, other);
                        driver().pools().memFreeAsync(DEVICE, block, other);
                        driver().pools().memPoolDestroy(DEVICE, driver().pools().memPoolCreate(DEVICE));
                    })
                    .join();
        }
        driver().streams().streamSynchronize(DEVICE, other);
        driver().pools().memPoolDestroy(DEVICE, pool);
        driver().streams().streamDestroy(DEVICE, stream);
        driver().streams().streamDestroy(DEVICE, other);
    }

    @Test
    void otherStreamsAndEventsAreCreatedAndDestroyedDuringACapture() {
        final long stream = driver().streams().streamCreate(DEVICE);
        try (Capture _ = new Capture(stream)) {
            final long other = driver().streams().streamCreate(DEVICE);
            final long event = driver().streams().eventCreate(DEVICE);
            driver().streams().eventRecord(DEVICE, event, other);
            driver().streams().eventSynchronize(DEVICE, event);
            assertThat(driver().streams().streamQuery(DEVICE, other)).isTrue();
            driver().streams().eventDestroy(DEVICE, event);
            driver().streams().streamDestroy(DEVICE, other);
        }
        driver().streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void memoryIsCopiedAndCountedDuringACapture() {
        final long stream = driver().streams().streamCreate(DEVICE);
        final long address = driver().memory().memAlloc(DEVICE, MIB);
        final long pinned = driver().memory().memHostAlloc(DEVICE, MIB, true);
        try (Capture _ = new Capture(stream)) {
            driver().memory().memsetD8(DEVICE, address, (byte) 7, MIB);
            driver().memory().memcpyDtoD(DEVICE, address, address + MIB / 2, MIB / 2);
            driver().memory().memcpyDtoH(DEVICE, pinned, address, MIB);
            driver().memory().memcpyHtoD(DEVICE, address, pinned, MIB);
            assertThat(driver().memory().memGetInfo(DEVICE).totalByteSize()).isPositive();
        }
        driver().memory().memFreeHost(DEVICE, pinned);
        driver().memory().memFree(DEVICE, address);
        driver().streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void memoryIsMappedDuringACapture() {
        final long stream = driver().streams().streamCreate(DEVICE);
        try (Capture _ = new Capture(stream)) {
            final long byteSize = driver().addressRanges().memGetAllocationGranularity(DEVICE);
            final long range = driver().addressRanges().memAddressReserve(DEVICE, byteSize);
            final long handle = driver().addressRanges().memCreate(DEVICE, byteSize);
            driver().addressRanges().memMap(DEVICE, range, byteSize, handle);
            driver().addressRanges().memSetAccess(DEVICE, range, byteSize, MemoryAccess.READ_WRITE);
            driver().addressRanges().memUnmap(DEVICE, range, byteSize);
            driver().addressRanges().memRelease(DEVICE, handle);
            driver().addressRanges().memAddressFree(DEVICE, range, byteSize);
        }
        driver().streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void aDestroyedStreamCompletesItsWork() {
        final long stream = driver().streams().streamCreate(DEVICE);
        final AtomicInteger calls = new AtomicInteger();
        try (Stall _ = stall(stream)) {
            driver().streams().launchHostFunction(DEVICE, stream, calls::incrementAndGet);
            driver().streams().streamDestroy(DEVICE, stream);
        }
        driver().devices().ctxSynchronize(DEVICE);
        assertThat(calls).hasValue(1);
    }
}
