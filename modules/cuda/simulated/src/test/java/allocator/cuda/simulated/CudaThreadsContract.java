package allocator.cuda.simulated;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.cuda.driver.PoolAttribute;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** Calls from any thread, and from many at once. */
abstract class CudaThreadsContract extends CudaContract {
    CudaThreadsContract(Supplier<? extends TestDriver> open) {
        super(open);
    }

    @Test
    void aThreadThatNeverUsedCudaMayFree() throws Exception {
        final long stream = driver().streams().streamCreate(DEVICE);
        final long event = driver().streams().eventCreate(DEVICE);
        final long pool = driver().pools().memPoolCreate(DEVICE);
        final long address = driver().memory().memAlloc(DEVICE, MIB);
        final long pooled = driver().pools().memAllocFromPoolAsync(DEVICE, pool, MIB, stream);
        final long pinned = driver().memory().memHostAlloc(DEVICE, MIB, true);
        for (ExecutorService threads : List.of(
                Executors.newSingleThreadExecutor(Thread.ofPlatform().factory()),
                Executors.newVirtualThreadPerTaskExecutor())) {
            try (threads) {
                threads.submit(() -> driver().memory()
                                .memFree(DEVICE, driver().memory().memAlloc(DEVICE, 1)))
                        .get();
                threads.submit(() -> driver().streams().eventRecord(DEVICE, event, stream))
                        .get();
            }
        }
        try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
            thread.submit(() -> driver().memory().memFree(DEVICE, address)).get();
        }
        try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
            thread.submit(() -> driver().pools().memFreeAsync(DEVICE, pooled, stream))
                    .get();
        }
        try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
            thread.submit(() -> driver().memory().memFreeHost(DEVICE, pinned)).get();
        }
        driver().streams().streamSynchronize(DEVICE, stream);
        driver().pools().memPoolDestroy(DEVICE, pool);
        driver().streams().eventDestroy(DEVICE, event);
        driver().streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void manyThreadsCallAtOnce() throws Exception {
        final long pool = driver().pools().memPoolCreate(DEVICE);
        driver().pools().memPoolSetAttribute(DEVICE, pool, PoolAttribute.RELEASE_THRESHOLD, Long.MAX_VALUE);
        final Callable<Void> work = () -> {
            final long stream = driver().streams().streamCreate(DEVICE);
            final long event = driver().streams().eventCreate(DEVICE);
            for (int i = 1; i <= 50; i++) {
                final long byteSize = i * 1000L;
                final long address = driver().pools().memAllocFromPoolAsync(DEVICE, pool, byteSize, stream);
                driver().memory().memsetD8Async(DEVICE, address, (byte) i, byteSize, stream);
                driver().streams().eventRecord(DEVICE, event, stream);
                driver().streams().eventQuery(DEVICE, event);
                driver().pools().memFreeAsync(DEVICE, address, stream);
                driver().memory().memFree(DEVICE, driver().memory().memAlloc(DEVICE, byteSize));
            }
            driver().streams().streamSynchronize(DEVICE, stream);
            driver().streams().eventDestroy(DEVICE, event);
            driver().streams().streamDestroy(DEVICE, stream);
            return null;
        };
        for (ExecutorService threads :
                List.of(Executors.newFixedThreadPool(8), Executors.newVirtualThreadPerTaskExecutor())) {
            try (threads) {
                for (Future<Void> done : threads.invokeAll(Collections.nCopies(16, work))) {
                    done.get();
                }
            }
        }
        driver().devices().ctxSynchronize(DEVICE);
        assertThat(attribute(pool, PoolAttribute.USED_MEM_CURRENT)).isZero();
        driver().pools().memPoolDestroy(DEVICE, pool);
    }
}
