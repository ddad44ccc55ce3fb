package allocator.cuda.simulated;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.cuda.driver.CudaDeviceInfo;
import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaMemoryUsage;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.driver.MemoryAccess;
import allocator.cuda.driver.PoolAttribute;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What the providers rely on; holds for a real driver and for the simulated one alike. */
abstract class CudaDriverContract {
    private static final int DEVICE = 0;
    private static final long MIB = 1L << 20;
    private static final long DEFAULT_STREAM = 0;

    private CudaDriver driver;

    /** The driver under test, with at least one device that has pools and virtual memory. */
    abstract CudaDriver openDriver();

    /** Keeps a stream from going on with what it is given from now on. */
    abstract Stall stall(CudaDriver driver, int device, long stream);

    /** A stream that does not go on. */
    interface Stall extends AutoCloseable {
        /** Lets it go on. */
        @Override
        void close();
    }

    @BeforeEach
    void retainContext() {
        driver = openDriver();
        driver.devices().primaryContextRetain(DEVICE);
    }

    @AfterEach
    void releaseContext() {
        if (driver != null) {
            driver.devices().ctxSynchronize(DEVICE);
            driver.devices().primaryContextRelease(DEVICE);
        }
    }

    // Devices

    @Test
    void theDeviceSaysWhatItIs() {
        final CudaDeviceInfo info = driver.devices().info(DEVICE);
        assertThat(driver.devices().driverVersion()).isGreaterThanOrEqualTo(12_000);
        assertThat(info.ordinal()).isZero();
        assertThat(info.name()).isNotBlank();
        assertThat(info.uuid().getMostSignificantBits()).isNotZero();
        assertThat(info.pciBusId()).matches("[0-9a-fA-F]+:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\\.\\d");
        assertThat(info.totalByteSize()).isGreaterThan(1024 * MIB);
        assertThat(info.computeCapability()).isGreaterThanOrEqualTo(50);
    }

    @Test
    void anOrdinalOutOfRangeIsRefused() {
        for (int device : new int[] {-1, driver.devices().count(), Integer.MAX_VALUE}) {
            assertFails(CudaResult.INVALID_DEVICE, () -> driver.devices().info(device));
            assertFails(CudaResult.INVALID_DEVICE, () -> driver.devices().primaryContextRetain(device));
            assertFails(CudaResult.INVALID_DEVICE, () -> driver.devices().primaryContextRelease(device));
            assertFails(CudaResult.INVALID_DEVICE, () -> driver.memory().memAlloc(device, 1));
            assertFails(CudaResult.INVALID_DEVICE, () -> driver.streams().streamCreate(device));
        }
    }

    @Test
    void withoutContextCallsAreRefused() {
        driver.devices().primaryContextRelease(DEVICE);
        try {
            assertFails(CudaResult.INVALID_CONTEXT, () -> driver.memory().memAlloc(DEVICE, 1));
            assertFails(CudaResult.INVALID_CONTEXT, () -> driver.pools().memPoolCreate(DEVICE));
            assertFails(CudaResult.INVALID_CONTEXT, () -> driver.devices().primaryContextRelease(DEVICE));
        } finally {
            driver.devices().primaryContextRetain(DEVICE);
        }
        driver.memory().memFree(DEVICE, driver.memory().memAlloc(DEVICE, 1));
    }

    @Test
    void theContextLivesUntilItsLastRelease() {
        driver.devices().primaryContextRetain(DEVICE);
        final long address = driver.memory().memAlloc(DEVICE, 1);
        driver.devices().primaryContextRelease(DEVICE);
        driver.memory().memFree(DEVICE, address);
    }

    // Memory

    @Test
    void allocationsAreAlignedAndApart() {
        final List<Long> addresses = new ArrayList<>();
        for (long byteSize : new long[] {1, 255, 256, 257, 4096, MIB, 3 * MIB + 1}) {
            final long address = driver.memory().memAlloc(DEVICE, byteSize);
            assertThat(address % 256).isZero();
            addresses.add(address);
            driver.memory().memsetD8(DEVICE, address, (byte) addresses.size(), byteSize);
        }
        for (int i = 0; i < addresses.size(); i++) {
            assertThat(firstByte(addresses.get(i))).isEqualTo((byte) (i + 1));
        }
        addresses.forEach(address -> driver.memory().memFree(DEVICE, address));
    }

    @Test
    void sizesThatAreNotPositiveAreRefused() {
        final long pool = driver.pools().memPoolCreate(DEVICE);
        for (long byteSize : new long[] {0, -1, Long.MIN_VALUE}) {
            assertFails(CudaResult.INVALID_VALUE, () -> driver.memory().memAlloc(DEVICE, byteSize));
            assertFails(CudaResult.INVALID_VALUE, () -> driver.memory().memAllocManaged(DEVICE, byteSize));
            assertFails(CudaResult.INVALID_VALUE, () -> driver.memory().memHostAlloc(DEVICE, byteSize, true));
            assertFails(
                    CudaResult.INVALID_VALUE,
                    () -> driver.pools().memAllocFromPoolAsync(DEVICE, pool, byteSize, DEFAULT_STREAM));
            assertFails(CudaResult.INVALID_VALUE, () -> driver.addressRanges().memAddressReserve(DEVICE, byteSize));
            assertFails(CudaResult.INVALID_VALUE, () -> driver.addressRanges().memCreate(DEVICE, byteSize));
        }
        driver.pools().memPoolDestroy(DEVICE, pool);
    }

    @Test
    void freeMemoryFollowsAllocations() {
        final CudaMemoryUsage before = driver.memory().memGetInfo(DEVICE);
        final long address = driver.memory().memAlloc(DEVICE, 256 * MIB);
        assertThat(driver.memory().memGetInfo(DEVICE).freeByteSize())
                .isLessThanOrEqualTo(before.freeByteSize() - 256 * MIB);
        driver.memory().memFree(DEVICE, address);
        assertThat(driver.memory().memGetInfo(DEVICE).freeByteSize()).isGreaterThan(before.freeByteSize() - 256 * MIB);
        assertThat(before.totalByteSize())
                .isEqualTo(driver.devices().info(DEVICE).totalByteSize())
                .isGreaterThanOrEqualTo(before.freeByteSize());
    }

    @Test
    void tenTimesTheDeviceIsOutOfMemoryAndHarmsNothing() {
        final long tooMuch = 10 * driver.devices().info(DEVICE).totalByteSize();
        final long live = driver.memory().memAlloc(DEVICE, MIB);
        driver.memory().memsetD8(DEVICE, live, (byte) 42, MIB);
        assertThatThrownBy(() -> driver.memory().memAlloc(DEVICE, tooMuch))
                .isInstanceOfSatisfying(CudaException.class, e -> {
                    assertThat(e.isOutOfMemory()).isTrue();
                    assertThat(e.resultName()).isEqualTo("CUDA_ERROR_OUT_OF_MEMORY");
                    assertThat(e.function()).isEqualTo(CudaFunction.MEM_ALLOC);
                    assertThat(e).hasMessageContaining("byteSize=" + tooMuch);
                });
        assertThatThrownBy(() -> driver.memory().memAlloc(DEVICE, Long.MAX_VALUE))
                .isInstanceOf(CudaException.class);
        assertThat(firstByte(live)).isEqualTo((byte) 42);
        final long next = driver.memory().memAlloc(DEVICE, MIB);
        driver.memory().memFree(DEVICE, next);
        driver.memory().memFree(DEVICE, live);
    }

    @Test
    void freeingWhatIsNotAllocatedIsRefused() {
        final long address = driver.memory().memAlloc(DEVICE, MIB);
        driver.memory().memFree(DEVICE, address);
        assertFails(CudaResult.INVALID_VALUE, () -> driver.memory().memFree(DEVICE, address));
        final long pinned = driver.memory().memHostAlloc(DEVICE, MIB, true);
        driver.memory().memFreeHost(DEVICE, pinned);
        assertFails(CudaResult.INVALID_VALUE, () -> driver.memory().memFreeHost(DEVICE, pinned));
    }

    @Test
    void copiesCarryEveryByte() {
        final int byteSize = 200_003;
        final byte[] pattern = new byte[byteSize];
        new Random(1).nextBytes(pattern);
        final long first = driver.memory().memAlloc(DEVICE, byteSize);
        final long second = driver.memory().memAlloc(DEVICE, byteSize);
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment source = arena.allocateFrom(ValueLayout.JAVA_BYTE, pattern);
            final MemorySegment target = arena.allocate(byteSize);
            driver.memory().memcpyHtoD(DEVICE, first, source.address(), byteSize);
            driver.memory().memcpyDtoD(DEVICE, second, first, byteSize);
            driver.memory().memcpyDtoH(DEVICE, target.address(), second, byteSize);
            assertThat(target.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(pattern);

            driver.memory().memcpyDtoH(DEVICE, target.address(), second + 70_000, 3);
            assertThat(target.asSlice(0, 3).toArray(ValueLayout.JAVA_BYTE))
                    .containsExactly(pattern[70_000], pattern[70_001], pattern[70_002]);
        }
        driver.memory().memFree(DEVICE, first);
        driver.memory().memFree(DEVICE, second);
    }

    @Test
    void aCopyOrFillOfNothingDoesNothing() {
        final long address = driver.memory().memAlloc(DEVICE, 256);
        driver.memory().memsetD8(DEVICE, address, (byte) 7, 256);
        driver.memory().memsetD8(DEVICE, address, (byte) 8, 0);
        driver.memory().memcpyDtoD(DEVICE, address, address, 0);
        assertThat(firstByte(address)).isEqualTo((byte) 7);
        driver.memory().memFree(DEVICE, address);
    }

    @Test
    void anAsynchronousCopyComesInItsStreamsOrder() {
        final long stream = driver.streams().streamCreate(DEVICE);
        final long device = driver.memory().memAlloc(DEVICE, 4096);
        final long pinned = driver.memory().memHostAlloc(DEVICE, 4096, true);
        host(pinned, 4096).fill((byte) 1);
        try (Stall _ = stall(driver, DEVICE, stream)) {
            driver.memory().memsetD8Async(DEVICE, device, (byte) 2, 4096, stream);
            driver.memory().memcpyDtoHAsync(DEVICE, pinned, device, 4096, stream);
            assertThat(host(pinned, 4096).get(ValueLayout.JAVA_BYTE, 4095)).isEqualTo((byte) 1);
        }
        driver.streams().streamSynchronize(DEVICE, stream);
        assertThat(host(pinned, 4096).get(ValueLayout.JAVA_BYTE, 4095)).isEqualTo((byte) 2);
        host(pinned, 4096).fill((byte) 3);
        driver.memory().memcpyHtoDAsync(DEVICE, device, pinned, 4096, stream);
        driver.memory().memcpyDtoDAsync(DEVICE, device, device + 2048, 2048, stream);
        driver.streams().streamSynchronize(DEVICE, stream);
        assertThat(firstByte(device)).isEqualTo((byte) 3);
        driver.memory().memFreeHost(DEVICE, pinned);
        driver.memory().memFree(DEVICE, device);
        driver.streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void pinnedMemoryIsHostMemory() {
        for (boolean isPortable : new boolean[] {false, true}) {
            final long pinned = driver.memory().memHostAlloc(DEVICE, MIB, isPortable);
            final MemorySegment bytes = host(pinned, MIB);
            bytes.set(ValueLayout.JAVA_LONG, MIB - 8, 0x1122_3344_5566_7788L);
            assertThat(bytes.get(ValueLayout.JAVA_LONG, MIB - 8)).isEqualTo(0x1122_3344_5566_7788L);
            driver.memory().memFreeHost(DEVICE, pinned);
        }
    }

    @Test
    void managedMemoryIsSeenFromBothSides() {
        final long address = driver.memory().memAllocManaged(DEVICE, MIB);
        host(address, MIB).fill((byte) 1);
        driver.memory().memsetD8(DEVICE, address, (byte) 2, MIB / 2);
        driver.devices().ctxSynchronize(DEVICE);
        assertThat(host(address, MIB).get(ValueLayout.JAVA_BYTE, 0)).isEqualTo((byte) 2);
        assertThat(host(address, MIB).get(ValueLayout.JAVA_BYTE, MIB - 1)).isEqualTo((byte) 1);
        driver.memory().memFree(DEVICE, address);
    }

    // Threads

    @Test
    void aThreadThatNeverUsedCudaFrees() throws Exception {
        final long stream = driver.streams().streamCreate(DEVICE);
        final long event = driver.streams().eventCreate(DEVICE);
        final long pool = driver.pools().memPoolCreate(DEVICE);
        final long address = driver.memory().memAlloc(DEVICE, MIB);
        final long pooled = driver.pools().memAllocFromPoolAsync(DEVICE, pool, MIB, stream);
        final long pinned = driver.memory().memHostAlloc(DEVICE, MIB, true);
        for (ExecutorService threads : List.of(
                Executors.newSingleThreadExecutor(Thread.ofPlatform().factory()),
                Executors.newVirtualThreadPerTaskExecutor())) {
            try (threads) {
                threads.submit(() ->
                                driver.memory().memFree(DEVICE, driver.memory().memAlloc(DEVICE, 1)))
                        .get();
                threads.submit(() -> driver.streams().eventRecord(DEVICE, event, stream))
                        .get();
            }
        }
        try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
            thread.submit(() -> driver.memory().memFree(DEVICE, address)).get();
        }
        try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
            thread.submit(() -> driver.pools().memFreeAsync(DEVICE, pooled, stream))
                    .get();
        }
        try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
            thread.submit(() -> driver.memory().memFreeHost(DEVICE, pinned)).get();
        }
        driver.streams().streamSynchronize(DEVICE, stream);
        driver.pools().memPoolDestroy(DEVICE, pool);
        driver.streams().eventDestroy(DEVICE, event);
        driver.streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void manyThreadsCallAtOnce() throws Exception {
        final long pool = driver.pools().memPoolCreate(DEVICE);
        driver.pools().memPoolSetAttribute(DEVICE, pool, PoolAttribute.RELEASE_THRESHOLD, Long.MAX_VALUE);
        final Callable<Void> work = () -> {
            final long stream = driver.streams().streamCreate(DEVICE);
            final long event = driver.streams().eventCreate(DEVICE);
            for (int i = 1; i <= 50; i++) {
                final long byteSize = i * 1000L;
                final long address = driver.pools().memAllocFromPoolAsync(DEVICE, pool, byteSize, stream);
                driver.memory().memsetD8Async(DEVICE, address, (byte) i, byteSize, stream);
                driver.streams().eventRecord(DEVICE, event, stream);
                driver.streams().eventQuery(DEVICE, event);
                driver.pools().memFreeAsync(DEVICE, address, stream);
                driver.memory().memFree(DEVICE, driver.memory().memAlloc(DEVICE, byteSize));
            }
            driver.streams().streamSynchronize(DEVICE, stream);
            driver.streams().eventDestroy(DEVICE, event);
            driver.streams().streamDestroy(DEVICE, stream);
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
        driver.devices().ctxSynchronize(DEVICE);
        assertThat(attribute(pool, PoolAttribute.USED_MEM_CURRENT)).isZero();
        driver.pools().memPoolDestroy(DEVICE, pool);
    }

    // Pools

    @Test
    void aNewPoolKeepsNothingOverASynchronization() {
        final long stream = driver.streams().streamCreate(DEVICE);
        final long pool = driver.pools().memPoolCreate(DEVICE);
        assertThat(attribute(pool, PoolAttribute.RELEASE_THRESHOLD)).isZero();
        final long address = driver.pools().memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, stream);
        driver.pools().memFreeAsync(DEVICE, address, stream);
        driver.streams().streamSynchronize(DEVICE, stream);
        driver.devices().ctxSynchronize(DEVICE);
        assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isZero();
        driver.pools().memPoolDestroy(DEVICE, pool);
        driver.streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void aPoolWithAThresholdKeepsItsMemoryUntilTrimmed() {
        for (long threshold : new long[] {Long.MAX_VALUE, -1}) {
            final long stream = driver.streams().streamCreate(DEVICE);
            final long pool = driver.pools().memPoolCreate(DEVICE);
            driver.pools().memPoolSetAttribute(DEVICE, pool, PoolAttribute.RELEASE_THRESHOLD, threshold);
            assertThat(attribute(pool, PoolAttribute.RELEASE_THRESHOLD)).isEqualTo(threshold);

            driver.pools()
                    .memFreeAsync(DEVICE, driver.pools().memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, stream), stream);
            driver.streams().streamSynchronize(DEVICE, stream);
            driver.devices().ctxSynchronize(DEVICE);
            final long reserved = attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT);
            assertThat(reserved).isGreaterThanOrEqualTo(64 * MIB);

            driver.pools()
                    .memFreeAsync(DEVICE, driver.pools().memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, stream), stream);
            driver.streams().streamSynchronize(DEVICE, stream);
            assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isEqualTo(reserved);

            driver.pools().memPoolTrimTo(DEVICE, pool, reserved);
            assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isEqualTo(reserved);
            driver.pools().memPoolTrimTo(DEVICE, pool, 0);
            assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isZero();
            assertFails(CudaResult.INVALID_VALUE, () -> driver.pools().memPoolTrimTo(DEVICE, pool, -1));
            driver.pools().memPoolDestroy(DEVICE, pool);
            driver.streams().streamDestroy(DEVICE, stream);
        }
    }

    @Test
    void trimmingLeavesWhatIsAllocated() {
        final long stream = driver.streams().streamCreate(DEVICE);
        final long pool = keepingPool();
        final long kept = driver.pools().memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, stream);
        driver.pools()
                .memFreeAsync(DEVICE, driver.pools().memAllocFromPoolAsync(DEVICE, pool, 256 * MIB, stream), stream);
        driver.memory().memsetD8Async(DEVICE, kept, (byte) 5, 64 * MIB, stream);
        driver.streams().streamSynchronize(DEVICE, stream);
        assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isGreaterThanOrEqualTo(320 * MIB);
        driver.pools().memPoolTrimTo(DEVICE, pool, 0);
        assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isBetween(64 * MIB, 256 * MIB);
        assertThat(firstByte(kept)).isEqualTo((byte) 5);
        driver.pools().memFreeAsync(DEVICE, kept, stream);
        driver.pools().memPoolDestroy(DEVICE, pool);
        driver.streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void countersFollowAllocationsAndFrees() {
        final long stream = driver.streams().streamCreate(DEVICE);
        final long pool = keepingPool();
        assertThat(attribute(pool, PoolAttribute.USED_MEM_CURRENT)).isZero();
        final long first = driver.pools().memAllocFromPoolAsync(DEVICE, pool, 10 * MIB, stream);
        final long second = driver.pools().memAllocFromPoolAsync(DEVICE, pool, 20 * MIB, stream);
        assertThat(attribute(pool, PoolAttribute.USED_MEM_CURRENT)).isBetween(30 * MIB, 40 * MIB);
        assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT))
                .isGreaterThanOrEqualTo(attribute(pool, PoolAttribute.USED_MEM_CURRENT));

        driver.pools().memFreeAsync(DEVICE, first, stream);
        driver.pools().memFreeAsync(DEVICE, second, stream);
        driver.streams().streamSynchronize(DEVICE, stream);
        assertThat(attribute(pool, PoolAttribute.USED_MEM_CURRENT)).isZero();
        assertThat(attribute(pool, PoolAttribute.USED_MEM_HIGH)).isGreaterThanOrEqualTo(30 * MIB);
        assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_HIGH)).isGreaterThanOrEqualTo(30 * MIB);

        driver.pools().memPoolSetAttribute(DEVICE, pool, PoolAttribute.USED_MEM_HIGH, 0);
        assertThat(attribute(pool, PoolAttribute.USED_MEM_HIGH)).isLessThan(30 * MIB);
        driver.pools().memPoolDestroy(DEVICE, pool);
        driver.streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void attributesAreCheckedWhenSet() {
        final long pool = driver.pools().memPoolCreate(DEVICE);
        for (PoolAttribute attribute : PoolAttribute.values()) {
            if (!attribute.isSettable()) {
                assertFails(
                        CudaResult.INVALID_VALUE, () -> driver.pools().memPoolSetAttribute(DEVICE, pool, attribute, 0));
            }
        }
        for (PoolAttribute flag : List.of(
                PoolAttribute.REUSE_FOLLOW_EVENT_DEPENDENCIES,
                PoolAttribute.REUSE_ALLOW_OPPORTUNISTIC,
                PoolAttribute.REUSE_ALLOW_INTERNAL_DEPENDENCIES)) {
            assertThat(attribute(pool, flag)).isEqualTo(1);
            driver.pools().memPoolSetAttribute(DEVICE, pool, flag, 0);
            assertThat(attribute(pool, flag)).isZero();
        }
        driver.pools().memPoolDestroy(DEVICE, pool);
    }

    @Test
    void aStreamReusesAtOnceWhatItFreed() {
        final long stream = driver.streams().streamCreate(DEVICE);
        final long pool = keepingPool();
        final long first = driver.pools().memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, stream);
        final long reserved = attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT);
        try (Stall _ = stall(driver, DEVICE, stream)) {
            long address = first;
            for (int i = 0; i < 10; i++) {
                driver.pools().memFreeAsync(DEVICE, address, stream);
                address = driver.pools().memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, stream);
                driver.memory().memsetD8Async(DEVICE, address, (byte) i, 64 * MIB, stream);
            }
            driver.pools().memFreeAsync(DEVICE, address, stream);
            assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isEqualTo(reserved);
        }
        driver.streams().streamSynchronize(DEVICE, stream);
        driver.pools().memPoolDestroy(DEVICE, pool);
        driver.streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void aStreamReusesWhatAnEventOrdersBeforeIt() {
        final long producer = driver.streams().streamCreate(DEVICE);
        final long consumer = driver.streams().streamCreate(DEVICE);
        final long event = driver.streams().eventCreate(DEVICE);
        final long pool = keepingPool();
        driver.pools().memPoolSetAttribute(DEVICE, pool, PoolAttribute.REUSE_ALLOW_OPPORTUNISTIC, 0);
        driver.pools().memPoolSetAttribute(DEVICE, pool, PoolAttribute.REUSE_ALLOW_INTERNAL_DEPENDENCIES, 0);
        final long first = driver.pools().memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, producer);
        final long reserved = attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT);
        final long second;
        try (Stall _ = stall(driver, DEVICE, producer)) {
            driver.memory().memsetD8Async(DEVICE, first, (byte) 1, 64 * MIB, producer);
            driver.pools().memFreeAsync(DEVICE, first, producer);
            driver.streams().eventRecord(DEVICE, event, producer);
            driver.streams().streamWaitEvent(DEVICE, consumer, event);
            second = driver.pools().memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, consumer);
            driver.memory().memsetD8Async(DEVICE, second, (byte) 2, 64 * MIB, consumer);
            assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isEqualTo(reserved);
        }
        driver.streams().streamSynchronize(DEVICE, consumer);
        assertThat(firstByte(second)).isEqualTo((byte) 2);
        driver.pools().memFreeAsync(DEVICE, second, consumer);
        driver.streams().streamSynchronize(DEVICE, consumer);
        driver.pools().memPoolDestroy(DEVICE, pool);
        driver.streams().eventDestroy(DEVICE, event);
        driver.streams().streamDestroy(DEVICE, producer);
        driver.streams().streamDestroy(DEVICE, consumer);
    }

    @Test
    void aStreamDoesNotReuseWhatAnotherMayStillUse() {
        final long busy = driver.streams().streamCreate(DEVICE);
        final long other = driver.streams().streamCreate(DEVICE);
        final long pool = keepingPool();
        driver.pools().memPoolSetAttribute(DEVICE, pool, PoolAttribute.REUSE_ALLOW_INTERNAL_DEPENDENCIES, 0);
        final long first = driver.pools().memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, busy);
        final long second;
        try (Stall _ = stall(driver, DEVICE, busy)) {
            driver.memory().memsetD8Async(DEVICE, first, (byte) 1, 64 * MIB, busy);
            driver.pools().memFreeAsync(DEVICE, first, busy);
            second = driver.pools().memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, other);
            assertThat(second).isNotEqualTo(first);
        }
        driver.pools().memFreeAsync(DEVICE, second, other);
        driver.devices().ctxSynchronize(DEVICE);
        driver.pools().memPoolDestroy(DEVICE, pool);
        driver.streams().streamDestroy(DEVICE, busy);
        driver.streams().streamDestroy(DEVICE, other);
    }

    @Test
    void freesMayComeInAnyOrder() {
        final long stream = driver.streams().streamCreate(DEVICE);
        final long pool = keepingPool();
        final List<Long> addresses = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            addresses.add(driver.pools().memAllocFromPoolAsync(DEVICE, pool, 1 + i * 5003L, stream));
        }
        assertThat(new HashSet<>(addresses)).hasSize(200);
        Collections.shuffle(addresses, new Random(7));
        addresses.forEach(address -> driver.pools().memFreeAsync(DEVICE, address, stream));
        driver.streams().streamSynchronize(DEVICE, stream);
        assertThat(attribute(pool, PoolAttribute.USED_MEM_CURRENT)).isZero();
        driver.pools().memPoolTrimTo(DEVICE, pool, 0);
        assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isZero();
        driver.pools().memPoolDestroy(DEVICE, pool);
        driver.streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void anotherStreamMayFree() {
        final long producer = driver.streams().streamCreate(DEVICE);
        final long consumer = driver.streams().streamCreate(DEVICE);
        final long event = driver.streams().eventCreate(DEVICE);
        final long pool = keepingPool();
        final long address = driver.pools().memAllocFromPoolAsync(DEVICE, pool, MIB, producer);
        driver.memory().memsetD8Async(DEVICE, address, (byte) 1, MIB, producer);
        driver.streams().eventRecord(DEVICE, event, producer);
        driver.streams().streamWaitEvent(DEVICE, consumer, event);
        driver.pools().memFreeAsync(DEVICE, address, consumer);
        driver.streams().streamSynchronize(DEVICE, consumer);
        assertThat(attribute(pool, PoolAttribute.USED_MEM_CURRENT)).isZero();
        driver.pools().memPoolDestroy(DEVICE, pool);
        driver.streams().eventDestroy(DEVICE, event);
        driver.streams().streamDestroy(DEVICE, producer);
        driver.streams().streamDestroy(DEVICE, consumer);
    }

    @Test
    void aPoolOutOfMemoryStaysUsable() {
        final long stream = driver.streams().streamCreate(DEVICE);
        final long pool = keepingPool();
        final long live = driver.pools().memAllocFromPoolAsync(DEVICE, pool, MIB, stream);
        final long used = attribute(pool, PoolAttribute.USED_MEM_CURRENT);
        final long tooMuch = 10 * driver.devices().info(DEVICE).totalByteSize();
        assertFails(
                CudaResult.OUT_OF_MEMORY, () -> driver.pools().memAllocFromPoolAsync(DEVICE, pool, tooMuch, stream));
        assertThat(attribute(pool, PoolAttribute.USED_MEM_CURRENT)).isEqualTo(used);
        driver.pools().memFreeAsync(DEVICE, driver.pools().memAllocFromPoolAsync(DEVICE, pool, MIB, stream), stream);
        driver.pools().memFreeAsync(DEVICE, live, stream);
        driver.streams().streamSynchronize(DEVICE, stream);
        driver.pools().memPoolDestroy(DEVICE, pool);
        driver.streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void freeingTwiceIntoAPoolIsRefused() {
        final long stream = driver.streams().streamCreate(DEVICE);
        final long pool = keepingPool();
        final long address = driver.pools().memAllocFromPoolAsync(DEVICE, pool, MIB, stream);
        driver.pools().memFreeAsync(DEVICE, address, stream);
        assertFails(CudaResult.INVALID_VALUE, () -> driver.pools().memFreeAsync(DEVICE, address, stream));
        driver.streams().streamSynchronize(DEVICE, stream);
        driver.pools().memPoolDestroy(DEVICE, pool);
        driver.streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void memoryOutlivesItsPool() {
        final long stream = driver.streams().streamCreate(DEVICE);
        final long pool = keepingPool();
        final long address = driver.pools().memAllocFromPoolAsync(DEVICE, pool, MIB, stream);
        driver.pools().memPoolDestroy(DEVICE, pool);
        driver.memory().memsetD8Async(DEVICE, address, (byte) 9, MIB, stream);
        driver.streams().streamSynchronize(DEVICE, stream);
        assertThat(firstByte(address)).isEqualTo((byte) 9);
        driver.pools().memFreeAsync(DEVICE, address, stream);
        driver.streams().streamSynchronize(DEVICE, stream);
        driver.streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void theDefaultPoolIsThere() {
        final long pool = driver.pools().deviceGetDefaultMemPool(DEVICE);
        assertThat(pool)
                .isEqualTo(driver.pools().deviceGetDefaultMemPool(DEVICE))
                .isNotZero();
        final long address = driver.pools().memAllocFromPoolAsync(DEVICE, pool, MIB, DEFAULT_STREAM);
        driver.pools().memFreeAsync(DEVICE, address, DEFAULT_STREAM);
        driver.devices().ctxSynchronize(DEVICE);
        driver.pools().memPoolTrimTo(DEVICE, pool, 0);
    }

    @Test
    void poolMemoryMayBeFreedSynchronously() {
        final long pool = keepingPool();
        final long address = driver.pools().memAllocFromPoolAsync(DEVICE, pool, MIB, DEFAULT_STREAM);
        driver.streams().streamSynchronize(DEVICE, DEFAULT_STREAM);
        driver.memory().memFree(DEVICE, address);
        // When its counters follow, a driver does not promise; that the memory is back shows when the pool ends.
        driver.pools().memPoolDestroy(DEVICE, pool);
    }

    @Test
    void aPoolsOwnDeviceHasAccess() {
        final long pool = driver.pools().memPoolCreate(DEVICE);
        driver.pools().memPoolSetAccess(DEVICE, pool, DEVICE, MemoryAccess.READ_WRITE);
        driver.pools().memPoolDestroy(DEVICE, pool);
    }

    // Address ranges

    @Test
    void theGranularityIsAPowerOfTwo() {
        assertThat(Long.bitCount(driver.addressRanges().memGetAllocationGranularity(DEVICE)))
                .isEqualTo(1);
    }

    @Test
    void aRangeLargerThanTheDeviceTakesNoMemory() {
        final long byteSize = roundUp(2 * driver.devices().info(DEVICE).totalByteSize());
        final long free = driver.memory().memGetInfo(DEVICE).freeByteSize();
        final long range = driver.addressRanges().memAddressReserve(DEVICE, byteSize);
        assertThat(driver.memory().memGetInfo(DEVICE).freeByteSize()).isGreaterThan(free - 64 * MIB);
        driver.addressRanges().memAddressFree(DEVICE, range, byteSize);
    }

    @Test
    void onePieceOfMemoryMayHaveTwoAddresses() {
        final long granule = driver.addressRanges().memGetAllocationGranularity(DEVICE);
        final long range = driver.addressRanges().memAddressReserve(DEVICE, 2 * granule);
        final long memory = driver.addressRanges().memCreate(DEVICE, granule);
        driver.addressRanges().memMap(DEVICE, range, granule, memory);
        driver.addressRanges().memMap(DEVICE, range + granule, granule, memory);
        driver.addressRanges().memSetAccess(DEVICE, range, 2 * granule, MemoryAccess.READ_WRITE);
        driver.memory().memsetD8(DEVICE, range, (byte) 11, granule);
        assertThat(firstByte(range + granule)).isEqualTo((byte) 11);
        driver.devices().ctxSynchronize(DEVICE);
        driver.addressRanges().memUnmap(DEVICE, range, granule);
        driver.addressRanges().memUnmap(DEVICE, range + granule, granule);
        driver.addressRanges().memRelease(DEVICE, memory);
        driver.addressRanges().memAddressFree(DEVICE, range, 2 * granule);
    }

    @Test
    void aRangeGrowsInPlace() {
        final long granule = driver.addressRanges().memGetAllocationGranularity(DEVICE);
        final long range = driver.addressRanges().memAddressReserve(DEVICE, 4 * granule);
        final long first = driver.addressRanges().memCreate(DEVICE, granule);
        final long second = driver.addressRanges().memCreate(DEVICE, 2 * granule);
        driver.addressRanges().memMap(DEVICE, range, granule, first);
        driver.addressRanges().memSetAccess(DEVICE, range, granule, MemoryAccess.READ_WRITE);
        driver.memory().memsetD8(DEVICE, range, (byte) 1, granule);
        driver.addressRanges().memMap(DEVICE, range + granule, 2 * granule, second);
        driver.addressRanges().memSetAccess(DEVICE, range + granule, 2 * granule, MemoryAccess.READ_WRITE);
        driver.memory().memsetD8(DEVICE, range + granule - 1, (byte) 2, 2 * granule);
        assertThat(firstByte(range)).isEqualTo((byte) 1);
        assertThat(firstByte(range + granule - 1)).isEqualTo((byte) 2);
        assertThat(firstByte(range + 2 * granule)).isEqualTo((byte) 2);
        driver.devices().ctxSynchronize(DEVICE);
        driver.addressRanges().memUnmap(DEVICE, range, 3 * granule);
        driver.addressRanges().memRelease(DEVICE, first);
        driver.addressRanges().memRelease(DEVICE, second);
        driver.addressRanges().memAddressFree(DEVICE, range, 4 * granule);
    }

    @Test
    void aHandleMayBeReleasedWhileItsMemoryIsMapped() {
        final long byteSize = roundUp(256 * MIB);
        final long range = driver.addressRanges().memAddressReserve(DEVICE, byteSize);
        final long free = driver.memory().memGetInfo(DEVICE).freeByteSize();
        final long memory = driver.addressRanges().memCreate(DEVICE, byteSize);
        driver.addressRanges().memMap(DEVICE, range, byteSize, memory);
        driver.addressRanges().memSetAccess(DEVICE, range, byteSize, MemoryAccess.READ_WRITE);
        driver.addressRanges().memRelease(DEVICE, memory);
        driver.memory().memsetD8(DEVICE, range, (byte) 3, byteSize);
        assertThat(firstByte(range)).isEqualTo((byte) 3);
        driver.devices().ctxSynchronize(DEVICE);
        assertThat(driver.memory().memGetInfo(DEVICE).freeByteSize()).isLessThanOrEqualTo(free - byteSize);
        driver.addressRanges().memUnmap(DEVICE, range, byteSize);
        assertThat(driver.memory().memGetInfo(DEVICE).freeByteSize()).isGreaterThan(free - byteSize);
        driver.addressRanges().memAddressFree(DEVICE, range, byteSize);
    }

    @Test
    void physicalMemoryRunsOutAndComesBack() {
        final long tooMuch = roundUp(10 * driver.devices().info(DEVICE).totalByteSize());
        assertFails(CudaResult.OUT_OF_MEMORY, () -> driver.addressRanges().memCreate(DEVICE, tooMuch));
        assertFails(CudaResult.INVALID_VALUE, () -> driver.addressRanges().memCreate(DEVICE, 1000));
        driver.addressRanges()
                .memRelease(
                        DEVICE,
                        driver.addressRanges()
                                .memCreate(DEVICE, driver.addressRanges().memGetAllocationGranularity(DEVICE)));
    }

    // Streams and events

    @Test
    void streamIdsAreNeverUsedAgain() {
        final Set<Long> ids = new HashSet<>();
        for (int i = 0; i < 20; i++) {
            final long stream = driver.streams().streamCreate(DEVICE);
            assertThat(ids.add(driver.streams().streamGetId(DEVICE, stream))).isTrue();
            assertThat(driver.streams().streamGetId(DEVICE, stream))
                    .isEqualTo(driver.streams().streamGetId(DEVICE, stream));
            driver.streams().streamDestroy(DEVICE, stream);
        }
        assertFails(CudaResult.INVALID_HANDLE, () -> driver.streams().streamDestroy(DEVICE, DEFAULT_STREAM));
    }

    @Test
    void anEventThatNeverWasRecordedIsDone() {
        final long event = driver.streams().eventCreate(DEVICE);
        assertThat(driver.streams().eventQuery(DEVICE, event)).isTrue();
        driver.streams().eventSynchronize(DEVICE, event);
        driver.streams().eventDestroy(DEVICE, event);
    }

    @Test
    void anEventIsDoneWhenAllBeforeItIs() {
        final long stream = driver.streams().streamCreate(DEVICE);
        final long event = driver.streams().eventCreate(DEVICE);
        final AtomicInteger calls = new AtomicInteger();
        try (Stall _ = stall(driver, DEVICE, stream)) {
            driver.streams().launchHostFunction(DEVICE, stream, calls::incrementAndGet);
            driver.streams().eventRecord(DEVICE, event, stream);
            assertThat(driver.streams().eventQuery(DEVICE, event)).isFalse();
            assertThat(driver.streams().streamQuery(DEVICE, stream)).isFalse();
            assertThat(calls).hasValue(0);
        }
        driver.streams().eventSynchronize(DEVICE, event);
        assertThat(driver.streams().eventQuery(DEVICE, event)).isTrue();
        assertThat(calls).hasValue(1);
        driver.streams().streamSynchronize(DEVICE, stream);
        assertThat(driver.streams().streamQuery(DEVICE, stream)).isTrue();
        driver.streams().eventDestroy(DEVICE, event);
        driver.streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void aStreamWaitsForAnEventOfAnother() {
        final long first = driver.streams().streamCreate(DEVICE);
        final long second = driver.streams().streamCreate(DEVICE);
        final long event = driver.streams().eventCreate(DEVICE);
        final List<String> order = Collections.synchronizedList(new ArrayList<>());
        try (Stall _ = stall(driver, DEVICE, first)) {
            driver.streams().launchHostFunction(DEVICE, first, () -> order.add("first"));
            driver.streams().eventRecord(DEVICE, event, first);
            driver.streams().streamWaitEvent(DEVICE, second, event);
            driver.streams().launchHostFunction(DEVICE, second, () -> order.add("second"));
            assertThat(driver.streams().streamQuery(DEVICE, second)).isFalse();
        }
        driver.streams().streamSynchronize(DEVICE, second);
        assertThat(order).containsExactly("first", "second");
        driver.streams().eventDestroy(DEVICE, event);
        driver.streams().streamDestroy(DEVICE, first);
        driver.streams().streamDestroy(DEVICE, second);
    }

    @Test
    void aWaitMeansTheEventAsItWasRecordedThen() {
        final long first = driver.streams().streamCreate(DEVICE);
        final long second = driver.streams().streamCreate(DEVICE);
        final long event = driver.streams().eventCreate(DEVICE);
        driver.streams().eventRecord(DEVICE, event, first);
        driver.streams().streamWaitEvent(DEVICE, second, event);
        try (Stall _ = stall(driver, DEVICE, first)) {
            driver.streams().eventRecord(DEVICE, event, first);
            driver.streams().streamSynchronize(DEVICE, second);
            assertThat(driver.streams().eventQuery(DEVICE, event)).isFalse();
            driver.streams().eventDestroy(DEVICE, event);
        }
        driver.streams().streamSynchronize(DEVICE, first);
        driver.streams().streamDestroy(DEVICE, first);
        driver.streams().streamDestroy(DEVICE, second);
    }

    @Test
    void hostFunctionsRunInOrderAndMayFail() {
        final long stream = driver.streams().streamCreate(DEVICE);
        final List<Integer> order = Collections.synchronizedList(new ArrayList<>());
        for (int i = 0; i < 100; i++) {
            final int number = i;
            driver.streams().launchHostFunction(DEVICE, stream, () -> order.add(number));
            if (i == 50) {
                driver.streams().launchHostFunction(DEVICE, stream, () -> {
                    throw new IllegalStateException("thrown on purpose");
                });
            }
        }
        driver.streams().streamSynchronize(DEVICE, stream);
        assertThat(order).hasSize(100).isSorted();
        driver.streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void aDestroyedStreamDoesWhatItWasGiven() {
        final long stream = driver.streams().streamCreate(DEVICE);
        final AtomicInteger calls = new AtomicInteger();
        try (Stall _ = stall(driver, DEVICE, stream)) {
            driver.streams().launchHostFunction(DEVICE, stream, calls::incrementAndGet);
            driver.streams().streamDestroy(DEVICE, stream);
        }
        driver.devices().ctxSynchronize(DEVICE);
        assertThat(calls).hasValue(1);
    }

    // Helpers

    private long keepingPool() {
        final long pool = driver.pools().memPoolCreate(DEVICE);
        driver.pools().memPoolSetAttribute(DEVICE, pool, PoolAttribute.RELEASE_THRESHOLD, Long.MAX_VALUE);
        return pool;
    }

    private long attribute(long pool, PoolAttribute attribute) {
        return driver.pools().memPoolGetAttribute(DEVICE, pool, attribute);
    }

    private long roundUp(long byteSize) {
        final long granule = driver.addressRanges().memGetAllocationGranularity(DEVICE);
        return (byteSize + granule - 1) / granule * granule;
    }

    private byte firstByte(long address) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment target = arena.allocate(1);
            driver.memory().memcpyDtoH(DEVICE, target.address(), address, 1);
            return target.get(ValueLayout.JAVA_BYTE, 0);
        }
    }

    @SuppressWarnings("restricted")
    private static MemorySegment host(long address, long byteSize) {
        return MemorySegment.ofAddress(address).reinterpret(byteSize);
    }

    private static void assertFails(int result, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        CudaException.class,
                        e -> assertThat(e.result()).as(e.getMessage()).isEqualTo(result));
    }
}
