package allocator.cuda.simulated;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.cuda.driver.CudaResult;
import allocator.cuda.driver.MemoryAccess;
import allocator.cuda.driver.PoolAttribute;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** Stream-ordered memory pools. */
abstract class CudaPoolsContract extends CudaContract {
    CudaPoolsContract(Supplier<? extends TestDriver> open) {
        super(open);
    }

    @Test
    void aNewPoolReleasesItsMemoryAtASynchronization() {
        final long stream = driver().streams().streamCreate(DEVICE);
        final long pool = driver().pools().memPoolCreate(DEVICE);
        assertThat(attribute(pool, PoolAttribute.RELEASE_THRESHOLD)).isZero();
        final long address = driver().pools().memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, stream);
        driver().pools().memFreeAsync(DEVICE, address, stream);
        driver().streams().streamSynchronize(DEVICE, stream);
        driver().devices().ctxSynchronize(DEVICE);
        assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isZero();
        driver().pools().memPoolDestroy(DEVICE, pool);
        driver().streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void aPoolWithAThresholdRetainsItsMemoryUntilTrimmed() {
        for (long threshold : new long[] {Long.MAX_VALUE, -1}) {
            final long stream = driver().streams().streamCreate(DEVICE);
            final long pool = driver().pools().memPoolCreate(DEVICE);
            driver().pools().memPoolSetAttribute(DEVICE, pool, PoolAttribute.RELEASE_THRESHOLD, threshold);
            assertThat(attribute(pool, PoolAttribute.RELEASE_THRESHOLD)).isEqualTo(threshold);

            driver().pools()
                    .memFreeAsync(
                            DEVICE, driver().pools().memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, stream), stream);
            driver().streams().streamSynchronize(DEVICE, stream);
            driver().devices().ctxSynchronize(DEVICE);
            final long reserved = attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT);
            assertThat(reserved).isGreaterThanOrEqualTo(64 * MIB);

            driver().pools()
                    .memFreeAsync(
                            DEVICE, driver().pools().memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, stream), stream);
            driver().streams().streamSynchronize(DEVICE, stream);
            assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isEqualTo(reserved);

            driver().pools().memPoolTrimTo(DEVICE, pool, reserved);
            assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isEqualTo(reserved);
            driver().pools().memPoolTrimTo(DEVICE, pool, 0);
            assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isZero();
            assertFails(CudaResult.INVALID_VALUE, () -> driver().pools().memPoolTrimTo(DEVICE, pool, -1));
            driver().pools().memPoolDestroy(DEVICE, pool);
            driver().streams().streamDestroy(DEVICE, stream);
        }
    }

    /** The promise of cuMemPoolTrimTo. An H200 with driver 580.159.04 returns parts of a block too, of 32 MiB. */
    @Test
    void trimmingKeepsAtLeastAsManyBytesAsAsked() {
        final long stream = driver().streams().streamCreate(DEVICE);
        final long pool = retainingPool();
        driver().pools()
                .memFreeAsync(DEVICE, driver().pools().memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, stream), stream);
        driver().streams().streamSynchronize(DEVICE, stream);
        driver().pools().memPoolTrimTo(DEVICE, pool, 33 * MIB);
        assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isBetween(33 * MIB, 64 * MIB);
        driver().pools().memPoolTrimTo(DEVICE, pool, 32 * MIB);
        assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isEqualTo(32 * MIB);
        driver().pools().memPoolDestroy(DEVICE, pool);
        driver().streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void trimmingDoesNotAffectLiveMemory() {
        final long stream = driver().streams().streamCreate(DEVICE);
        final long pool = retainingPool();
        final long live = driver().pools().memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, stream);
        driver().pools()
                .memFreeAsync(DEVICE, driver().pools().memAllocFromPoolAsync(DEVICE, pool, 256 * MIB, stream), stream);
        driver().memory().memsetD8Async(DEVICE, live, (byte) 5, 64 * MIB, stream);
        driver().streams().streamSynchronize(DEVICE, stream);
        assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isGreaterThanOrEqualTo(320 * MIB);
        driver().pools().memPoolTrimTo(DEVICE, pool, 0);
        assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isBetween(64 * MIB, 256 * MIB);
        assertThat(firstByte(live)).isEqualTo((byte) 5);
        driver().pools().memFreeAsync(DEVICE, live, stream);
        driver().pools().memPoolDestroy(DEVICE, pool);
        driver().streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void countersFollowAllocationsAndFrees() {
        final long stream = driver().streams().streamCreate(DEVICE);
        final long pool = retainingPool();
        assertThat(attribute(pool, PoolAttribute.USED_MEM_CURRENT)).isZero();
        final long first = driver().pools().memAllocFromPoolAsync(DEVICE, pool, 10 * MIB, stream);
        final long second = driver().pools().memAllocFromPoolAsync(DEVICE, pool, 20 * MIB, stream);
        assertThat(attribute(pool, PoolAttribute.USED_MEM_CURRENT)).isBetween(30 * MIB, 40 * MIB);
        assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT))
                .isGreaterThanOrEqualTo(attribute(pool, PoolAttribute.USED_MEM_CURRENT));

        driver().pools().memFreeAsync(DEVICE, first, stream);
        driver().pools().memFreeAsync(DEVICE, second, stream);
        driver().streams().streamSynchronize(DEVICE, stream);
        assertThat(attribute(pool, PoolAttribute.USED_MEM_CURRENT)).isZero();
        assertThat(attribute(pool, PoolAttribute.USED_MEM_HIGH)).isGreaterThanOrEqualTo(30 * MIB);
        assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_HIGH)).isGreaterThanOrEqualTo(30 * MIB);

        driver().pools().memPoolSetAttribute(DEVICE, pool, PoolAttribute.USED_MEM_HIGH, 0);
        assertThat(attribute(pool, PoolAttribute.USED_MEM_HIGH)).isLessThan(30 * MIB);
        driver().pools().memPoolDestroy(DEVICE, pool);
        driver().streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void attributesAreCheckedWhenSet() {
        final long pool = driver().pools().memPoolCreate(DEVICE);
        for (PoolAttribute attribute : PoolAttribute.values()) {
            if (!attribute.isSettable()) {
                assertFails(
                        CudaResult.INVALID_VALUE,
                        () -> driver().pools().memPoolSetAttribute(DEVICE, pool, attribute, 0));
            }
        }
        for (PoolAttribute flag : List.of(
                PoolAttribute.REUSE_FOLLOW_EVENT_DEPENDENCIES,
                PoolAttribute.REUSE_ALLOW_OPPORTUNISTIC,
                PoolAttribute.REUSE_ALLOW_INTERNAL_DEPENDENCIES)) {
            assertThat(attribute(pool, flag)).isEqualTo(1);
            driver().pools().memPoolSetAttribute(DEVICE, pool, flag, 0);
            assertThat(attribute(pool, flag)).isZero();
        }
        driver().pools().memPoolDestroy(DEVICE, pool);
    }

    @Test
    void aStreamReusesAtOnceWhatItFreed() {
        final long stream = driver().streams().streamCreate(DEVICE);
        final long pool = retainingPool();
        final long first = driver().pools().memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, stream);
        final long reserved = attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT);
        try (Stall _ = stall(stream)) {
            long address = first;
            for (int i = 0; i < 10; i++) {
                driver().pools().memFreeAsync(DEVICE, address, stream);
                address = driver().pools().memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, stream);
                driver().memory().memsetD8Async(DEVICE, address, (byte) i, 64 * MIB, stream);
            }
            driver().pools().memFreeAsync(DEVICE, address, stream);
            assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isEqualTo(reserved);
        }
        driver().streams().streamSynchronize(DEVICE, stream);
        driver().pools().memPoolDestroy(DEVICE, pool);
        driver().streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void aStreamReusesWhatAnEventOrdersBeforeIt() {
        final long producer = driver().streams().streamCreate(DEVICE);
        final long consumer = driver().streams().streamCreate(DEVICE);
        final long event = driver().streams().eventCreate(DEVICE);
        final long pool = retainingPool();
        driver().pools().memPoolSetAttribute(DEVICE, pool, PoolAttribute.REUSE_ALLOW_OPPORTUNISTIC, 0);
        driver().pools().memPoolSetAttribute(DEVICE, pool, PoolAttribute.REUSE_ALLOW_INTERNAL_DEPENDENCIES, 0);
        final long first = driver().pools().memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, producer);
        final long reserved = attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT);
        final long second;
        try (Stall _ = stall(producer)) {
            driver().memory().memsetD8Async(DEVICE, first, (byte) 1, 64 * MIB, producer);
            driver().pools().memFreeAsync(DEVICE, first, producer);
            driver().streams().eventRecord(DEVICE, event, producer);
            driver().streams().streamWaitEvent(DEVICE, consumer, event);
            second = driver().pools().memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, consumer);
            driver().memory().memsetD8Async(DEVICE, second, (byte) 2, 64 * MIB, consumer);
            assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isEqualTo(reserved);
        }
        driver().streams().streamSynchronize(DEVICE, consumer);
        assertThat(firstByte(second)).isEqualTo((byte) 2);
        driver().pools().memFreeAsync(DEVICE, second, consumer);
        driver().streams().streamSynchronize(DEVICE, consumer);
        driver().pools().memPoolDestroy(DEVICE, pool);
        driver().streams().eventDestroy(DEVICE, event);
        driver().streams().streamDestroy(DEVICE, producer);
        driver().streams().streamDestroy(DEVICE, consumer);
    }

    @Test
    void aStreamDoesNotReuseWhatAnotherMayStillUse() {
        final long busy = driver().streams().streamCreate(DEVICE);
        final long other = driver().streams().streamCreate(DEVICE);
        final long pool = retainingPool();
        driver().pools().memPoolSetAttribute(DEVICE, pool, PoolAttribute.REUSE_ALLOW_INTERNAL_DEPENDENCIES, 0);
        final long first = driver().pools().memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, busy);
        final long second;
        try (Stall _ = stall(busy)) {
            driver().memory().memsetD8Async(DEVICE, first, (byte) 1, 64 * MIB, busy);
            driver().pools().memFreeAsync(DEVICE, first, busy);
            second = driver().pools().memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, other);
            assertThat(second).isNotEqualTo(first);
        }
        driver().pools().memFreeAsync(DEVICE, second, other);
        driver().devices().ctxSynchronize(DEVICE);
        driver().pools().memPoolDestroy(DEVICE, pool);
        driver().streams().streamDestroy(DEVICE, busy);
        driver().streams().streamDestroy(DEVICE, other);
    }

    @Test
    void freesMayComeInAnyOrder() {
        final long stream = driver().streams().streamCreate(DEVICE);
        final long pool = retainingPool();
        final List<Long> addresses = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            addresses.add(driver().pools().memAllocFromPoolAsync(DEVICE, pool, 1 + i * 5003L, stream));
        }
        assertThat(new HashSet<>(addresses)).hasSize(200);
        Collections.shuffle(addresses, new Random(7));
        addresses.forEach(address -> driver().pools().memFreeAsync(DEVICE, address, stream));
        driver().streams().streamSynchronize(DEVICE, stream);
        assertThat(attribute(pool, PoolAttribute.USED_MEM_CURRENT)).isZero();
        driver().pools().memPoolTrimTo(DEVICE, pool, 0);
        assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isZero();
        driver().pools().memPoolDestroy(DEVICE, pool);
        driver().streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void anotherStreamMayFree() {
        final long producer = driver().streams().streamCreate(DEVICE);
        final long consumer = driver().streams().streamCreate(DEVICE);
        final long event = driver().streams().eventCreate(DEVICE);
        final long pool = retainingPool();
        final long address = driver().pools().memAllocFromPoolAsync(DEVICE, pool, MIB, producer);
        driver().memory().memsetD8Async(DEVICE, address, (byte) 1, MIB, producer);
        driver().streams().eventRecord(DEVICE, event, producer);
        driver().streams().streamWaitEvent(DEVICE, consumer, event);
        driver().pools().memFreeAsync(DEVICE, address, consumer);
        driver().streams().streamSynchronize(DEVICE, consumer);
        assertThat(attribute(pool, PoolAttribute.USED_MEM_CURRENT)).isZero();
        driver().pools().memPoolDestroy(DEVICE, pool);
        driver().streams().eventDestroy(DEVICE, event);
        driver().streams().streamDestroy(DEVICE, producer);
        driver().streams().streamDestroy(DEVICE, consumer);
    }

    @Test
    void aPoolOutOfMemoryStaysUsable() {
        final long stream = driver().streams().streamCreate(DEVICE);
        final long pool = retainingPool();
        final long live = driver().pools().memAllocFromPoolAsync(DEVICE, pool, MIB, stream);
        final long used = attribute(pool, PoolAttribute.USED_MEM_CURRENT);
        final long tooMuch = 10 * driver().devices().info(DEVICE).totalByteSize();
        assertFails(
                CudaResult.OUT_OF_MEMORY, () -> driver().pools().memAllocFromPoolAsync(DEVICE, pool, tooMuch, stream));
        assertThat(attribute(pool, PoolAttribute.USED_MEM_CURRENT)).isEqualTo(used);
        driver().pools()
                .memFreeAsync(DEVICE, driver().pools().memAllocFromPoolAsync(DEVICE, pool, MIB, stream), stream);
        driver().pools().memFreeAsync(DEVICE, live, stream);
        driver().streams().streamSynchronize(DEVICE, stream);
        driver().pools().memPoolDestroy(DEVICE, pool);
        driver().streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void freeingTwiceIntoAPoolFails() {
        final long stream = driver().streams().streamCreate(DEVICE);
        final long pool = retainingPool();
        final long address = driver().pools().memAllocFromPoolAsync(DEVICE, pool, MIB, stream);
        driver().pools().memFreeAsync(DEVICE, address, stream);
        assertFails(CudaResult.INVALID_VALUE, () -> driver().pools().memFreeAsync(DEVICE, address, stream));
        driver().streams().streamSynchronize(DEVICE, stream);
        driver().pools().memPoolDestroy(DEVICE, pool);
        driver().streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void memoryOutlivesItsPool() {
        final long stream = driver().streams().streamCreate(DEVICE);
        final long pool = retainingPool();
        final long address = driver().pools().memAllocFromPoolAsync(DEVICE, pool, MIB, stream);
        driver().pools().memPoolDestroy(DEVICE, pool);
        driver().memory().memsetD8Async(DEVICE, address, (byte) 9, MIB, stream);
        driver().streams().streamSynchronize(DEVICE, stream);
        assertThat(firstByte(address)).isEqualTo((byte) 9);
        driver().pools().memFreeAsync(DEVICE, address, stream);
        driver().streams().streamSynchronize(DEVICE, stream);
        driver().streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void everyDeviceHasADefaultPool() {
        final long pool = driver().pools().deviceGetDefaultMemPool(DEVICE);
        assertThat(pool)
                .isEqualTo(driver().pools().deviceGetDefaultMemPool(DEVICE))
                .isNotZero();
        final long address = driver().pools().memAllocFromPoolAsync(DEVICE, pool, MIB, DEFAULT_STREAM);
        driver().pools().memFreeAsync(DEVICE, address, DEFAULT_STREAM);
        driver().devices().ctxSynchronize(DEVICE);
        driver().pools().memPoolTrimTo(DEVICE, pool, 0);
    }

    @Test
    void poolMemoryMayBeFreedSynchronously() {
        final long pool = retainingPool();
        final long address = driver().pools().memAllocFromPoolAsync(DEVICE, pool, MIB, DEFAULT_STREAM);
        driver().streams().streamSynchronize(DEVICE, DEFAULT_STREAM);
        driver().memory().memFree(DEVICE, address);
        // A driver need not update the pool's counters at once; the destruction shows that the memory is back.
        driver().pools().memPoolDestroy(DEVICE, pool);
    }

    @Test
    void aPoolsOwnDeviceHasAccess() {
        final long pool = driver().pools().memPoolCreate(DEVICE);
        driver().pools().memPoolSetAccess(DEVICE, pool, DEVICE, MemoryAccess.READ_WRITE);
        driver().pools().memPoolDestroy(DEVICE, pool);
    }
}
