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
        driver.primaryContextRetain(DEVICE);
    }

    @AfterEach
    void releaseContext() {
        if (driver != null) {
            driver.ctxSynchronize(DEVICE);
            driver.primaryContextRelease(DEVICE);
        }
    }

    // Devices

    @Test
    void theDeviceSaysWhatItIs() {
        final CudaDeviceInfo info = driver.deviceInfo(DEVICE);
        assertThat(driver.driverVersion()).isGreaterThanOrEqualTo(12_000);
        assertThat(info.ordinal()).isZero();
        assertThat(info.name()).isNotBlank();
        assertThat(info.uuid().getMostSignificantBits()).isNotZero();
        assertThat(info.pciBusId()).matches("[0-9a-fA-F]+:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\\.\\d");
        assertThat(info.totalByteSize()).isGreaterThan(1024 * MIB);
        assertThat(info.computeCapability()).isGreaterThanOrEqualTo(50);
    }

    @Test
    void anOrdinalOutOfRangeIsRefused() {
        for (int device : new int[] {-1, driver.deviceCount(), Integer.MAX_VALUE}) {
            assertFails(CudaResult.INVALID_DEVICE, () -> driver.deviceInfo(device));
            assertFails(CudaResult.INVALID_DEVICE, () -> driver.primaryContextRetain(device));
            assertFails(CudaResult.INVALID_DEVICE, () -> driver.primaryContextRelease(device));
            assertFails(CudaResult.INVALID_DEVICE, () -> driver.memAlloc(device, 1));
            assertFails(CudaResult.INVALID_DEVICE, () -> driver.streamCreate(device));
        }
    }

    @Test
    void withoutContextCallsAreRefused() {
        driver.primaryContextRelease(DEVICE);
        try {
            assertFails(CudaResult.INVALID_CONTEXT, () -> driver.memAlloc(DEVICE, 1));
            assertFails(CudaResult.INVALID_CONTEXT, () -> driver.memPoolCreate(DEVICE));
            assertFails(CudaResult.INVALID_CONTEXT, () -> driver.primaryContextRelease(DEVICE));
        } finally {
            driver.primaryContextRetain(DEVICE);
        }
        driver.memFree(DEVICE, driver.memAlloc(DEVICE, 1));
    }

    @Test
    void theContextLivesUntilItsLastRelease() {
        driver.primaryContextRetain(DEVICE);
        final long address = driver.memAlloc(DEVICE, 1);
        driver.primaryContextRelease(DEVICE);
        driver.memFree(DEVICE, address);
    }

    // Memory

    @Test
    void allocationsAreAlignedAndApart() {
        final List<Long> addresses = new ArrayList<>();
        for (long byteSize : new long[] {1, 255, 256, 257, 4096, MIB, 3 * MIB + 1}) {
            final long address = driver.memAlloc(DEVICE, byteSize);
            assertThat(address % 256).isZero();
            addresses.add(address);
            driver.memsetD8(DEVICE, address, (byte) addresses.size(), byteSize);
        }
        for (int i = 0; i < addresses.size(); i++) {
            assertThat(firstByte(addresses.get(i))).isEqualTo((byte) (i + 1));
        }
        addresses.forEach(address -> driver.memFree(DEVICE, address));
    }

    @Test
    void sizesThatAreNotPositiveAreRefused() {
        final long pool = driver.memPoolCreate(DEVICE);
        for (long byteSize : new long[] {0, -1, Long.MIN_VALUE}) {
            assertFails(CudaResult.INVALID_VALUE, () -> driver.memAlloc(DEVICE, byteSize));
            assertFails(CudaResult.INVALID_VALUE, () -> driver.memAllocManaged(DEVICE, byteSize));
            assertFails(CudaResult.INVALID_VALUE, () -> driver.memHostAlloc(DEVICE, byteSize, true));
            assertFails(
                    CudaResult.INVALID_VALUE,
                    () -> driver.memAllocFromPoolAsync(DEVICE, pool, byteSize, DEFAULT_STREAM));
            assertFails(CudaResult.INVALID_VALUE, () -> driver.memAddressReserve(DEVICE, byteSize));
            assertFails(CudaResult.INVALID_VALUE, () -> driver.memCreate(DEVICE, byteSize));
        }
        driver.memPoolDestroy(DEVICE, pool);
    }

    @Test
    void freeMemoryFollowsAllocations() {
        final CudaMemoryUsage before = driver.memGetInfo(DEVICE);
        final long address = driver.memAlloc(DEVICE, 256 * MIB);
        assertThat(driver.memGetInfo(DEVICE).freeByteSize()).isLessThanOrEqualTo(before.freeByteSize() - 256 * MIB);
        driver.memFree(DEVICE, address);
        assertThat(driver.memGetInfo(DEVICE).freeByteSize()).isGreaterThan(before.freeByteSize() - 256 * MIB);
        assertThat(before.totalByteSize())
                .isEqualTo(driver.deviceInfo(DEVICE).totalByteSize())
                .isGreaterThanOrEqualTo(before.freeByteSize());
    }

    @Test
    void tenTimesTheDeviceIsOutOfMemoryAndHarmsNothing() {
        final long tooMuch = 10 * driver.deviceInfo(DEVICE).totalByteSize();
        final long live = driver.memAlloc(DEVICE, MIB);
        driver.memsetD8(DEVICE, live, (byte) 42, MIB);
        assertThatThrownBy(() -> driver.memAlloc(DEVICE, tooMuch)).isInstanceOfSatisfying(CudaException.class, e -> {
            assertThat(e.isOutOfMemory()).isTrue();
            assertThat(e.resultName()).isEqualTo("CUDA_ERROR_OUT_OF_MEMORY");
            assertThat(e.function()).isEqualTo(CudaFunction.MEM_ALLOC);
            assertThat(e).hasMessageContaining("byteSize=" + tooMuch);
        });
        assertThatThrownBy(() -> driver.memAlloc(DEVICE, Long.MAX_VALUE)).isInstanceOf(CudaException.class);
        assertThat(firstByte(live)).isEqualTo((byte) 42);
        final long next = driver.memAlloc(DEVICE, MIB);
        driver.memFree(DEVICE, next);
        driver.memFree(DEVICE, live);
    }

    @Test
    void freeingWhatIsNotAllocatedIsRefused() {
        final long address = driver.memAlloc(DEVICE, MIB);
        driver.memFree(DEVICE, address);
        assertFails(CudaResult.INVALID_VALUE, () -> driver.memFree(DEVICE, address));
        final long pinned = driver.memHostAlloc(DEVICE, MIB, true);
        driver.memFreeHost(DEVICE, pinned);
        assertFails(CudaResult.INVALID_VALUE, () -> driver.memFreeHost(DEVICE, pinned));
    }

    @Test
    void copiesCarryEveryByte() {
        final int byteSize = 200_003;
        final byte[] pattern = new byte[byteSize];
        new Random(1).nextBytes(pattern);
        final long first = driver.memAlloc(DEVICE, byteSize);
        final long second = driver.memAlloc(DEVICE, byteSize);
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment source = arena.allocateFrom(ValueLayout.JAVA_BYTE, pattern);
            final MemorySegment target = arena.allocate(byteSize);
            driver.memcpyHtoD(DEVICE, first, source.address(), byteSize);
            driver.memcpyDtoD(DEVICE, second, first, byteSize);
            driver.memcpyDtoH(DEVICE, target.address(), second, byteSize);
            assertThat(target.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(pattern);

            driver.memcpyDtoH(DEVICE, target.address(), second + 70_000, 3);
            assertThat(target.asSlice(0, 3).toArray(ValueLayout.JAVA_BYTE))
                    .containsExactly(pattern[70_000], pattern[70_001], pattern[70_002]);
        }
        driver.memFree(DEVICE, first);
        driver.memFree(DEVICE, second);
    }

    @Test
    void aCopyOrFillOfNothingDoesNothing() {
        final long address = driver.memAlloc(DEVICE, 256);
        driver.memsetD8(DEVICE, address, (byte) 7, 256);
        driver.memsetD8(DEVICE, address, (byte) 8, 0);
        driver.memcpyDtoD(DEVICE, address, address, 0);
        assertThat(firstByte(address)).isEqualTo((byte) 7);
        driver.memFree(DEVICE, address);
    }

    @Test
    void anAsynchronousCopyComesInItsStreamsOrder() {
        final long stream = driver.streamCreate(DEVICE);
        final long device = driver.memAlloc(DEVICE, 4096);
        final long pinned = driver.memHostAlloc(DEVICE, 4096, true);
        host(pinned, 4096).fill((byte) 1);
        try (Stall _ = stall(driver, DEVICE, stream)) {
            driver.memsetD8Async(DEVICE, device, (byte) 2, 4096, stream);
            driver.memcpyDtoHAsync(DEVICE, pinned, device, 4096, stream);
            assertThat(host(pinned, 4096).get(ValueLayout.JAVA_BYTE, 4095)).isEqualTo((byte) 1);
        }
        driver.streamSynchronize(DEVICE, stream);
        assertThat(host(pinned, 4096).get(ValueLayout.JAVA_BYTE, 4095)).isEqualTo((byte) 2);
        host(pinned, 4096).fill((byte) 3);
        driver.memcpyHtoDAsync(DEVICE, device, pinned, 4096, stream);
        driver.memcpyDtoDAsync(DEVICE, device, device + 2048, 2048, stream);
        driver.streamSynchronize(DEVICE, stream);
        assertThat(firstByte(device)).isEqualTo((byte) 3);
        driver.memFreeHost(DEVICE, pinned);
        driver.memFree(DEVICE, device);
        driver.streamDestroy(DEVICE, stream);
    }

    @Test
    void pinnedMemoryIsHostMemory() {
        for (boolean isPortable : new boolean[] {false, true}) {
            final long pinned = driver.memHostAlloc(DEVICE, MIB, isPortable);
            final MemorySegment bytes = host(pinned, MIB);
            bytes.set(ValueLayout.JAVA_LONG, MIB - 8, 0x1122_3344_5566_7788L);
            assertThat(bytes.get(ValueLayout.JAVA_LONG, MIB - 8)).isEqualTo(0x1122_3344_5566_7788L);
            driver.memFreeHost(DEVICE, pinned);
        }
    }

    @Test
    void managedMemoryIsSeenFromBothSides() {
        final long address = driver.memAllocManaged(DEVICE, MIB);
        host(address, MIB).fill((byte) 1);
        driver.memsetD8(DEVICE, address, (byte) 2, MIB / 2);
        driver.ctxSynchronize(DEVICE);
        assertThat(host(address, MIB).get(ValueLayout.JAVA_BYTE, 0)).isEqualTo((byte) 2);
        assertThat(host(address, MIB).get(ValueLayout.JAVA_BYTE, MIB - 1)).isEqualTo((byte) 1);
        driver.memFree(DEVICE, address);
    }

    // Threads

    @Test
    void aThreadThatNeverUsedCudaFrees() throws Exception {
        final long stream = driver.streamCreate(DEVICE);
        final long event = driver.eventCreate(DEVICE);
        final long pool = driver.memPoolCreate(DEVICE);
        final long address = driver.memAlloc(DEVICE, MIB);
        final long pooled = driver.memAllocFromPoolAsync(DEVICE, pool, MIB, stream);
        final long pinned = driver.memHostAlloc(DEVICE, MIB, true);
        for (ExecutorService threads : List.of(
                Executors.newSingleThreadExecutor(Thread.ofPlatform().factory()),
                Executors.newVirtualThreadPerTaskExecutor())) {
            try (threads) {
                threads.submit(() -> driver.memFree(DEVICE, driver.memAlloc(DEVICE, 1)))
                        .get();
                threads.submit(() -> driver.eventRecord(DEVICE, event, stream)).get();
            }
        }
        try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
            thread.submit(() -> driver.memFree(DEVICE, address)).get();
        }
        try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
            thread.submit(() -> driver.memFreeAsync(DEVICE, pooled, stream)).get();
        }
        try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
            thread.submit(() -> driver.memFreeHost(DEVICE, pinned)).get();
        }
        driver.streamSynchronize(DEVICE, stream);
        driver.memPoolDestroy(DEVICE, pool);
        driver.eventDestroy(DEVICE, event);
        driver.streamDestroy(DEVICE, stream);
    }

    @Test
    void manyThreadsCallAtOnce() throws Exception {
        final long pool = driver.memPoolCreate(DEVICE);
        driver.memPoolSetAttribute(DEVICE, pool, PoolAttribute.RELEASE_THRESHOLD, Long.MAX_VALUE);
        final Callable<Void> work = () -> {
            final long stream = driver.streamCreate(DEVICE);
            final long event = driver.eventCreate(DEVICE);
            for (int i = 1; i <= 50; i++) {
                final long byteSize = i * 1000L;
                final long address = driver.memAllocFromPoolAsync(DEVICE, pool, byteSize, stream);
                driver.memsetD8Async(DEVICE, address, (byte) i, byteSize, stream);
                driver.eventRecord(DEVICE, event, stream);
                driver.eventQuery(DEVICE, event);
                driver.memFreeAsync(DEVICE, address, stream);
                driver.memFree(DEVICE, driver.memAlloc(DEVICE, byteSize));
            }
            driver.streamSynchronize(DEVICE, stream);
            driver.eventDestroy(DEVICE, event);
            driver.streamDestroy(DEVICE, stream);
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
        driver.ctxSynchronize(DEVICE);
        assertThat(attribute(pool, PoolAttribute.USED_MEM_CURRENT)).isZero();
        driver.memPoolDestroy(DEVICE, pool);
    }

    // Pools

    @Test
    void aNewPoolKeepsNothingOverASynchronization() {
        final long stream = driver.streamCreate(DEVICE);
        final long pool = driver.memPoolCreate(DEVICE);
        assertThat(attribute(pool, PoolAttribute.RELEASE_THRESHOLD)).isZero();
        final long address = driver.memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, stream);
        driver.memFreeAsync(DEVICE, address, stream);
        driver.streamSynchronize(DEVICE, stream);
        driver.ctxSynchronize(DEVICE);
        assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isZero();
        driver.memPoolDestroy(DEVICE, pool);
        driver.streamDestroy(DEVICE, stream);
    }

    @Test
    void aPoolWithAThresholdKeepsItsMemoryUntilTrimmed() {
        for (long threshold : new long[] {Long.MAX_VALUE, -1}) {
            final long stream = driver.streamCreate(DEVICE);
            final long pool = driver.memPoolCreate(DEVICE);
            driver.memPoolSetAttribute(DEVICE, pool, PoolAttribute.RELEASE_THRESHOLD, threshold);
            assertThat(attribute(pool, PoolAttribute.RELEASE_THRESHOLD)).isEqualTo(threshold);

            driver.memFreeAsync(DEVICE, driver.memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, stream), stream);
            driver.streamSynchronize(DEVICE, stream);
            driver.ctxSynchronize(DEVICE);
            final long reserved = attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT);
            assertThat(reserved).isGreaterThanOrEqualTo(64 * MIB);

            driver.memFreeAsync(DEVICE, driver.memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, stream), stream);
            driver.streamSynchronize(DEVICE, stream);
            assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isEqualTo(reserved);

            driver.memPoolTrimTo(DEVICE, pool, reserved);
            assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isEqualTo(reserved);
            driver.memPoolTrimTo(DEVICE, pool, 0);
            assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isZero();
            assertFails(CudaResult.INVALID_VALUE, () -> driver.memPoolTrimTo(DEVICE, pool, -1));
            driver.memPoolDestroy(DEVICE, pool);
            driver.streamDestroy(DEVICE, stream);
        }
    }

    @Test
    void trimmingLeavesWhatIsAllocated() {
        final long stream = driver.streamCreate(DEVICE);
        final long pool = keepingPool();
        final long kept = driver.memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, stream);
        driver.memFreeAsync(DEVICE, driver.memAllocFromPoolAsync(DEVICE, pool, 256 * MIB, stream), stream);
        driver.memsetD8Async(DEVICE, kept, (byte) 5, 64 * MIB, stream);
        driver.streamSynchronize(DEVICE, stream);
        assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isGreaterThanOrEqualTo(320 * MIB);
        driver.memPoolTrimTo(DEVICE, pool, 0);
        assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isBetween(64 * MIB, 256 * MIB);
        assertThat(firstByte(kept)).isEqualTo((byte) 5);
        driver.memFreeAsync(DEVICE, kept, stream);
        driver.memPoolDestroy(DEVICE, pool);
        driver.streamDestroy(DEVICE, stream);
    }

    @Test
    void countersFollowAllocationsAndFrees() {
        final long stream = driver.streamCreate(DEVICE);
        final long pool = keepingPool();
        assertThat(attribute(pool, PoolAttribute.USED_MEM_CURRENT)).isZero();
        final long first = driver.memAllocFromPoolAsync(DEVICE, pool, 10 * MIB, stream);
        final long second = driver.memAllocFromPoolAsync(DEVICE, pool, 20 * MIB, stream);
        assertThat(attribute(pool, PoolAttribute.USED_MEM_CURRENT)).isBetween(30 * MIB, 40 * MIB);
        assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT))
                .isGreaterThanOrEqualTo(attribute(pool, PoolAttribute.USED_MEM_CURRENT));

        driver.memFreeAsync(DEVICE, first, stream);
        driver.memFreeAsync(DEVICE, second, stream);
        driver.streamSynchronize(DEVICE, stream);
        assertThat(attribute(pool, PoolAttribute.USED_MEM_CURRENT)).isZero();
        assertThat(attribute(pool, PoolAttribute.USED_MEM_HIGH)).isGreaterThanOrEqualTo(30 * MIB);
        assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_HIGH)).isGreaterThanOrEqualTo(30 * MIB);

        driver.memPoolSetAttribute(DEVICE, pool, PoolAttribute.USED_MEM_HIGH, 0);
        assertThat(attribute(pool, PoolAttribute.USED_MEM_HIGH)).isLessThan(30 * MIB);
        driver.memPoolDestroy(DEVICE, pool);
        driver.streamDestroy(DEVICE, stream);
    }

    @Test
    void attributesAreCheckedWhenSet() {
        final long pool = driver.memPoolCreate(DEVICE);
        for (PoolAttribute attribute : PoolAttribute.values()) {
            if (!attribute.isSettable()) {
                assertFails(CudaResult.INVALID_VALUE, () -> driver.memPoolSetAttribute(DEVICE, pool, attribute, 0));
            }
        }
        for (PoolAttribute flag : List.of(
                PoolAttribute.REUSE_FOLLOW_EVENT_DEPENDENCIES,
                PoolAttribute.REUSE_ALLOW_OPPORTUNISTIC,
                PoolAttribute.REUSE_ALLOW_INTERNAL_DEPENDENCIES)) {
            assertThat(attribute(pool, flag)).isEqualTo(1);
            driver.memPoolSetAttribute(DEVICE, pool, flag, 0);
            assertThat(attribute(pool, flag)).isZero();
        }
        driver.memPoolDestroy(DEVICE, pool);
    }

    @Test
    void aStreamReusesAtOnceWhatItFreed() {
        final long stream = driver.streamCreate(DEVICE);
        final long pool = keepingPool();
        final long first = driver.memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, stream);
        final long reserved = attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT);
        try (Stall _ = stall(driver, DEVICE, stream)) {
            long address = first;
            for (int i = 0; i < 10; i++) {
                driver.memFreeAsync(DEVICE, address, stream);
                address = driver.memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, stream);
                driver.memsetD8Async(DEVICE, address, (byte) i, 64 * MIB, stream);
            }
            driver.memFreeAsync(DEVICE, address, stream);
            assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isEqualTo(reserved);
        }
        driver.streamSynchronize(DEVICE, stream);
        driver.memPoolDestroy(DEVICE, pool);
        driver.streamDestroy(DEVICE, stream);
    }

    @Test
    void aStreamReusesWhatAnEventOrdersBeforeIt() {
        final long producer = driver.streamCreate(DEVICE);
        final long consumer = driver.streamCreate(DEVICE);
        final long event = driver.eventCreate(DEVICE);
        final long pool = keepingPool();
        driver.memPoolSetAttribute(DEVICE, pool, PoolAttribute.REUSE_ALLOW_OPPORTUNISTIC, 0);
        driver.memPoolSetAttribute(DEVICE, pool, PoolAttribute.REUSE_ALLOW_INTERNAL_DEPENDENCIES, 0);
        final long first = driver.memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, producer);
        final long reserved = attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT);
        final long second;
        try (Stall _ = stall(driver, DEVICE, producer)) {
            driver.memsetD8Async(DEVICE, first, (byte) 1, 64 * MIB, producer);
            driver.memFreeAsync(DEVICE, first, producer);
            driver.eventRecord(DEVICE, event, producer);
            driver.streamWaitEvent(DEVICE, consumer, event);
            second = driver.memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, consumer);
            driver.memsetD8Async(DEVICE, second, (byte) 2, 64 * MIB, consumer);
            assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isEqualTo(reserved);
        }
        driver.streamSynchronize(DEVICE, consumer);
        assertThat(firstByte(second)).isEqualTo((byte) 2);
        driver.memFreeAsync(DEVICE, second, consumer);
        driver.streamSynchronize(DEVICE, consumer);
        driver.memPoolDestroy(DEVICE, pool);
        driver.eventDestroy(DEVICE, event);
        driver.streamDestroy(DEVICE, producer);
        driver.streamDestroy(DEVICE, consumer);
    }

    @Test
    void aStreamDoesNotReuseWhatAnotherMayStillUse() {
        final long busy = driver.streamCreate(DEVICE);
        final long other = driver.streamCreate(DEVICE);
        final long pool = keepingPool();
        driver.memPoolSetAttribute(DEVICE, pool, PoolAttribute.REUSE_ALLOW_INTERNAL_DEPENDENCIES, 0);
        final long first = driver.memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, busy);
        final long second;
        try (Stall _ = stall(driver, DEVICE, busy)) {
            driver.memsetD8Async(DEVICE, first, (byte) 1, 64 * MIB, busy);
            driver.memFreeAsync(DEVICE, first, busy);
            second = driver.memAllocFromPoolAsync(DEVICE, pool, 64 * MIB, other);
            assertThat(second).isNotEqualTo(first);
        }
        driver.memFreeAsync(DEVICE, second, other);
        driver.ctxSynchronize(DEVICE);
        driver.memPoolDestroy(DEVICE, pool);
        driver.streamDestroy(DEVICE, busy);
        driver.streamDestroy(DEVICE, other);
    }

    @Test
    void freesMayComeInAnyOrder() {
        final long stream = driver.streamCreate(DEVICE);
        final long pool = keepingPool();
        final List<Long> addresses = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            addresses.add(driver.memAllocFromPoolAsync(DEVICE, pool, 1 + i * 5003L, stream));
        }
        assertThat(new HashSet<>(addresses)).hasSize(200);
        Collections.shuffle(addresses, new Random(7));
        addresses.forEach(address -> driver.memFreeAsync(DEVICE, address, stream));
        driver.streamSynchronize(DEVICE, stream);
        assertThat(attribute(pool, PoolAttribute.USED_MEM_CURRENT)).isZero();
        driver.memPoolTrimTo(DEVICE, pool, 0);
        assertThat(attribute(pool, PoolAttribute.RESERVED_MEM_CURRENT)).isZero();
        driver.memPoolDestroy(DEVICE, pool);
        driver.streamDestroy(DEVICE, stream);
    }

    @Test
    void anotherStreamMayFree() {
        final long producer = driver.streamCreate(DEVICE);
        final long consumer = driver.streamCreate(DEVICE);
        final long event = driver.eventCreate(DEVICE);
        final long pool = keepingPool();
        final long address = driver.memAllocFromPoolAsync(DEVICE, pool, MIB, producer);
        driver.memsetD8Async(DEVICE, address, (byte) 1, MIB, producer);
        driver.eventRecord(DEVICE, event, producer);
        driver.streamWaitEvent(DEVICE, consumer, event);
        driver.memFreeAsync(DEVICE, address, consumer);
        driver.streamSynchronize(DEVICE, consumer);
        assertThat(attribute(pool, PoolAttribute.USED_MEM_CURRENT)).isZero();
        driver.memPoolDestroy(DEVICE, pool);
        driver.eventDestroy(DEVICE, event);
        driver.streamDestroy(DEVICE, producer);
        driver.streamDestroy(DEVICE, consumer);
    }

    @Test
    void aPoolOutOfMemoryStaysUsable() {
        final long stream = driver.streamCreate(DEVICE);
        final long pool = keepingPool();
        final long live = driver.memAllocFromPoolAsync(DEVICE, pool, MIB, stream);
        final long used = attribute(pool, PoolAttribute.USED_MEM_CURRENT);
        final long tooMuch = 10 * driver.deviceInfo(DEVICE).totalByteSize();
        assertFails(CudaResult.OUT_OF_MEMORY, () -> driver.memAllocFromPoolAsync(DEVICE, pool, tooMuch, stream));
        assertThat(attribute(pool, PoolAttribute.USED_MEM_CURRENT)).isEqualTo(used);
        driver.memFreeAsync(DEVICE, driver.memAllocFromPoolAsync(DEVICE, pool, MIB, stream), stream);
        driver.memFreeAsync(DEVICE, live, stream);
        driver.streamSynchronize(DEVICE, stream);
        driver.memPoolDestroy(DEVICE, pool);
        driver.streamDestroy(DEVICE, stream);
    }

    @Test
    void freeingTwiceIntoAPoolIsRefused() {
        final long stream = driver.streamCreate(DEVICE);
        final long pool = keepingPool();
        final long address = driver.memAllocFromPoolAsync(DEVICE, pool, MIB, stream);
        driver.memFreeAsync(DEVICE, address, stream);
        assertFails(CudaResult.INVALID_VALUE, () -> driver.memFreeAsync(DEVICE, address, stream));
        driver.streamSynchronize(DEVICE, stream);
        driver.memPoolDestroy(DEVICE, pool);
        driver.streamDestroy(DEVICE, stream);
    }

    @Test
    void memoryOutlivesItsPool() {
        final long stream = driver.streamCreate(DEVICE);
        final long pool = keepingPool();
        final long address = driver.memAllocFromPoolAsync(DEVICE, pool, MIB, stream);
        driver.memPoolDestroy(DEVICE, pool);
        driver.memsetD8Async(DEVICE, address, (byte) 9, MIB, stream);
        driver.streamSynchronize(DEVICE, stream);
        assertThat(firstByte(address)).isEqualTo((byte) 9);
        driver.memFreeAsync(DEVICE, address, stream);
        driver.streamSynchronize(DEVICE, stream);
        driver.streamDestroy(DEVICE, stream);
    }

    @Test
    void theDefaultPoolIsThere() {
        final long pool = driver.deviceGetDefaultMemPool(DEVICE);
        assertThat(pool).isEqualTo(driver.deviceGetDefaultMemPool(DEVICE)).isNotZero();
        final long address = driver.memAllocFromPoolAsync(DEVICE, pool, MIB, DEFAULT_STREAM);
        driver.memFreeAsync(DEVICE, address, DEFAULT_STREAM);
        driver.ctxSynchronize(DEVICE);
        driver.memPoolTrimTo(DEVICE, pool, 0);
    }

    @Test
    void poolMemoryMayBeFreedSynchronously() {
        final long pool = keepingPool();
        final long address = driver.memAllocFromPoolAsync(DEVICE, pool, MIB, DEFAULT_STREAM);
        driver.streamSynchronize(DEVICE, DEFAULT_STREAM);
        driver.memFree(DEVICE, address);
        // When its counters follow, a driver does not promise; that the memory is back shows when the pool ends.
        driver.memPoolDestroy(DEVICE, pool);
    }

    @Test
    void aPoolsOwnDeviceHasAccess() {
        final long pool = driver.memPoolCreate(DEVICE);
        driver.memPoolSetAccess(DEVICE, pool, DEVICE, MemoryAccess.READ_WRITE);
        driver.memPoolDestroy(DEVICE, pool);
    }

    // Address ranges

    @Test
    void theGranularityIsAPowerOfTwo() {
        assertThat(Long.bitCount(driver.memGetAllocationGranularity(DEVICE))).isEqualTo(1);
    }

    @Test
    void aRangeLargerThanTheDeviceTakesNoMemory() {
        final long byteSize = roundUp(2 * driver.deviceInfo(DEVICE).totalByteSize());
        final long free = driver.memGetInfo(DEVICE).freeByteSize();
        final long range = driver.memAddressReserve(DEVICE, byteSize);
        assertThat(driver.memGetInfo(DEVICE).freeByteSize()).isGreaterThan(free - 64 * MIB);
        driver.memAddressFree(DEVICE, range, byteSize);
    }

    @Test
    void onePieceOfMemoryMayHaveTwoAddresses() {
        final long granule = driver.memGetAllocationGranularity(DEVICE);
        final long range = driver.memAddressReserve(DEVICE, 2 * granule);
        final long memory = driver.memCreate(DEVICE, granule);
        driver.memMap(DEVICE, range, granule, memory);
        driver.memMap(DEVICE, range + granule, granule, memory);
        driver.memSetAccess(DEVICE, range, 2 * granule, MemoryAccess.READ_WRITE);
        driver.memsetD8(DEVICE, range, (byte) 11, granule);
        assertThat(firstByte(range + granule)).isEqualTo((byte) 11);
        driver.ctxSynchronize(DEVICE);
        driver.memUnmap(DEVICE, range, granule);
        driver.memUnmap(DEVICE, range + granule, granule);
        driver.memRelease(DEVICE, memory);
        driver.memAddressFree(DEVICE, range, 2 * granule);
    }

    @Test
    void aRangeGrowsInPlace() {
        final long granule = driver.memGetAllocationGranularity(DEVICE);
        final long range = driver.memAddressReserve(DEVICE, 4 * granule);
        final long first = driver.memCreate(DEVICE, granule);
        final long second = driver.memCreate(DEVICE, 2 * granule);
        driver.memMap(DEVICE, range, granule, first);
        driver.memSetAccess(DEVICE, range, granule, MemoryAccess.READ_WRITE);
        driver.memsetD8(DEVICE, range, (byte) 1, granule);
        driver.memMap(DEVICE, range + granule, 2 * granule, second);
        driver.memSetAccess(DEVICE, range + granule, 2 * granule, MemoryAccess.READ_WRITE);
        driver.memsetD8(DEVICE, range + granule - 1, (byte) 2, 2 * granule);
        assertThat(firstByte(range)).isEqualTo((byte) 1);
        assertThat(firstByte(range + granule - 1)).isEqualTo((byte) 2);
        assertThat(firstByte(range + 2 * granule)).isEqualTo((byte) 2);
        driver.ctxSynchronize(DEVICE);
        driver.memUnmap(DEVICE, range, 3 * granule);
        driver.memRelease(DEVICE, first);
        driver.memRelease(DEVICE, second);
        driver.memAddressFree(DEVICE, range, 4 * granule);
    }

    @Test
    void aHandleMayBeReleasedWhileItsMemoryIsMapped() {
        final long byteSize = roundUp(256 * MIB);
        final long range = driver.memAddressReserve(DEVICE, byteSize);
        final long free = driver.memGetInfo(DEVICE).freeByteSize();
        final long memory = driver.memCreate(DEVICE, byteSize);
        driver.memMap(DEVICE, range, byteSize, memory);
        driver.memSetAccess(DEVICE, range, byteSize, MemoryAccess.READ_WRITE);
        driver.memRelease(DEVICE, memory);
        driver.memsetD8(DEVICE, range, (byte) 3, byteSize);
        assertThat(firstByte(range)).isEqualTo((byte) 3);
        driver.ctxSynchronize(DEVICE);
        assertThat(driver.memGetInfo(DEVICE).freeByteSize()).isLessThanOrEqualTo(free - byteSize);
        driver.memUnmap(DEVICE, range, byteSize);
        assertThat(driver.memGetInfo(DEVICE).freeByteSize()).isGreaterThan(free - byteSize);
        driver.memAddressFree(DEVICE, range, byteSize);
    }

    @Test
    void physicalMemoryRunsOutAndComesBack() {
        final long tooMuch = roundUp(10 * driver.deviceInfo(DEVICE).totalByteSize());
        assertFails(CudaResult.OUT_OF_MEMORY, () -> driver.memCreate(DEVICE, tooMuch));
        assertFails(CudaResult.INVALID_VALUE, () -> driver.memCreate(DEVICE, 1000));
        driver.memRelease(DEVICE, driver.memCreate(DEVICE, driver.memGetAllocationGranularity(DEVICE)));
    }

    // Streams and events

    @Test
    void streamIdsAreNeverUsedAgain() {
        final Set<Long> ids = new HashSet<>();
        for (int i = 0; i < 20; i++) {
            final long stream = driver.streamCreate(DEVICE);
            assertThat(ids.add(driver.streamGetId(DEVICE, stream))).isTrue();
            assertThat(driver.streamGetId(DEVICE, stream)).isEqualTo(driver.streamGetId(DEVICE, stream));
            driver.streamDestroy(DEVICE, stream);
        }
        assertFails(CudaResult.INVALID_HANDLE, () -> driver.streamDestroy(DEVICE, DEFAULT_STREAM));
    }

    @Test
    void anEventThatNeverWasRecordedIsDone() {
        final long event = driver.eventCreate(DEVICE);
        assertThat(driver.eventQuery(DEVICE, event)).isTrue();
        driver.eventSynchronize(DEVICE, event);
        driver.eventDestroy(DEVICE, event);
    }

    @Test
    void anEventIsDoneWhenAllBeforeItIs() {
        final long stream = driver.streamCreate(DEVICE);
        final long event = driver.eventCreate(DEVICE);
        final AtomicInteger calls = new AtomicInteger();
        try (Stall _ = stall(driver, DEVICE, stream)) {
            driver.launchHostFunction(DEVICE, stream, calls::incrementAndGet);
            driver.eventRecord(DEVICE, event, stream);
            assertThat(driver.eventQuery(DEVICE, event)).isFalse();
            assertThat(driver.streamQuery(DEVICE, stream)).isFalse();
            assertThat(calls).hasValue(0);
        }
        driver.eventSynchronize(DEVICE, event);
        assertThat(driver.eventQuery(DEVICE, event)).isTrue();
        assertThat(calls).hasValue(1);
        driver.streamSynchronize(DEVICE, stream);
        assertThat(driver.streamQuery(DEVICE, stream)).isTrue();
        driver.eventDestroy(DEVICE, event);
        driver.streamDestroy(DEVICE, stream);
    }

    @Test
    void aStreamWaitsForAnEventOfAnother() {
        final long first = driver.streamCreate(DEVICE);
        final long second = driver.streamCreate(DEVICE);
        final long event = driver.eventCreate(DEVICE);
        final List<String> order = Collections.synchronizedList(new ArrayList<>());
        try (Stall _ = stall(driver, DEVICE, first)) {
            driver.launchHostFunction(DEVICE, first, () -> order.add("first"));
            driver.eventRecord(DEVICE, event, first);
            driver.streamWaitEvent(DEVICE, second, event);
            driver.launchHostFunction(DEVICE, second, () -> order.add("second"));
            assertThat(driver.streamQuery(DEVICE, second)).isFalse();
        }
        driver.streamSynchronize(DEVICE, second);
        assertThat(order).containsExactly("first", "second");
        driver.eventDestroy(DEVICE, event);
        driver.streamDestroy(DEVICE, first);
        driver.streamDestroy(DEVICE, second);
    }

    @Test
    void aWaitMeansTheEventAsItWasRecordedThen() {
        final long first = driver.streamCreate(DEVICE);
        final long second = driver.streamCreate(DEVICE);
        final long event = driver.eventCreate(DEVICE);
        driver.eventRecord(DEVICE, event, first);
        driver.streamWaitEvent(DEVICE, second, event);
        try (Stall _ = stall(driver, DEVICE, first)) {
            driver.eventRecord(DEVICE, event, first);
            driver.streamSynchronize(DEVICE, second);
            assertThat(driver.eventQuery(DEVICE, event)).isFalse();
            driver.eventDestroy(DEVICE, event);
        }
        driver.streamSynchronize(DEVICE, first);
        driver.streamDestroy(DEVICE, first);
        driver.streamDestroy(DEVICE, second);
    }

    @Test
    void hostFunctionsRunInOrderAndMayFail() {
        final long stream = driver.streamCreate(DEVICE);
        final List<Integer> order = Collections.synchronizedList(new ArrayList<>());
        for (int i = 0; i < 100; i++) {
            final int number = i;
            driver.launchHostFunction(DEVICE, stream, () -> order.add(number));
            if (i == 50) {
                driver.launchHostFunction(DEVICE, stream, () -> {
                    throw new IllegalStateException("thrown on purpose");
                });
            }
        }
        driver.streamSynchronize(DEVICE, stream);
        assertThat(order).hasSize(100).isSorted();
        driver.streamDestroy(DEVICE, stream);
    }

    @Test
    void aDestroyedStreamDoesWhatItWasGiven() {
        final long stream = driver.streamCreate(DEVICE);
        final AtomicInteger calls = new AtomicInteger();
        try (Stall _ = stall(driver, DEVICE, stream)) {
            driver.launchHostFunction(DEVICE, stream, calls::incrementAndGet);
            driver.streamDestroy(DEVICE, stream);
        }
        driver.ctxSynchronize(DEVICE);
        assertThat(calls).hasValue(1);
    }

    // Helpers

    private long keepingPool() {
        final long pool = driver.memPoolCreate(DEVICE);
        driver.memPoolSetAttribute(DEVICE, pool, PoolAttribute.RELEASE_THRESHOLD, Long.MAX_VALUE);
        return pool;
    }

    private long attribute(long pool, PoolAttribute attribute) {
        return driver.memPoolGetAttribute(DEVICE, pool, attribute);
    }

    private long roundUp(long byteSize) {
        final long granule = driver.memGetAllocationGranularity(DEVICE);
        return (byteSize + granule - 1) / granule * granule;
    }

    private byte firstByte(long address) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment target = arena.allocate(1);
            driver.memcpyDtoH(DEVICE, target.address(), address, 1);
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
