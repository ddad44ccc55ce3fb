package allocator.cuda.simulated;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaMemoryUsage;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.driver.HostSegments;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** Device, managed and pinned memory, fills and copies. */
abstract class CudaMemoryContract extends CudaContract {
    CudaMemoryContract(Supplier<? extends TestDriver> open) {
        super(open);
    }

    @Test
    void allocationsAreAlignedAndApart() {
        final List<Long> addresses = new ArrayList<>();
        for (long byteSize : new long[] {1, 255, 256, 257, 4096, MIB, 3 * MIB + 1}) {
            final long address = driver().memory().memAlloc(DEVICE, byteSize);
            assertThat(address % 256).isZero();
            addresses.add(address);
            driver().memory().memsetD8(DEVICE, address, (byte) addresses.size(), byteSize);
        }
        for (int i = 0; i < addresses.size(); i++) {
            assertThat(firstByte(addresses.get(i))).isEqualTo((byte) (i + 1));
        }
        addresses.forEach(address -> driver().memory().memFree(DEVICE, address));
    }

    @Test
    void sizesThatAreNotPositiveAreRejected() {
        final long pool = driver().pools().memPoolCreate(DEVICE);
        for (long byteSize : new long[] {0, -1, Long.MIN_VALUE}) {
            assertFails(CudaResult.INVALID_VALUE, () -> driver().memory().memAlloc(DEVICE, byteSize));
            assertFails(CudaResult.INVALID_VALUE, () -> driver().memory().memAllocManaged(DEVICE, byteSize));
            assertFails(CudaResult.INVALID_VALUE, () -> driver().memory().memHostAlloc(DEVICE, byteSize, true));
            assertFails(
                    CudaResult.INVALID_VALUE,
                    () -> driver().pools().memAllocFromPoolAsync(DEVICE, pool, byteSize, DEFAULT_STREAM));
            assertFails(CudaResult.INVALID_VALUE, () -> driver().addressRanges().memAddressReserve(DEVICE, byteSize));
            assertFails(CudaResult.INVALID_VALUE, () -> driver().addressRanges().memCreate(DEVICE, byteSize));
        }
        driver().pools().memPoolDestroy(DEVICE, pool);
    }

    @Test
    void freeMemoryFollowsAllocations() {
        final CudaMemoryUsage before = driver().memory().memGetInfo(DEVICE);
        boolean follows = false;
        for (int i = 0; i < 20 && !follows; i++) { // other programs may use the device
            final long free = driver().memory().memGetInfo(DEVICE).freeByteSize();
            final long address = driver().memory().memAlloc(DEVICE, 256 * MIB);
            final long less = driver().memory().memGetInfo(DEVICE).freeByteSize();
            driver().memory().memFree(DEVICE, address);
            final long again = driver().memory().memGetInfo(DEVICE).freeByteSize();
            follows = less <= free - 256 * MIB && again > free - 256 * MIB;
        }
        assertThat(follows).isTrue();
        assertThat(before.totalByteSize())
                .isEqualTo(driver().devices().info(DEVICE).totalByteSize())
                .isGreaterThanOrEqualTo(before.freeByteSize());
    }

    @Test
    void tenTimesTheDeviceIsOutOfMemoryAndAffectsNothing() {
        final long tooMuch = 10 * driver().devices().info(DEVICE).totalByteSize();
        final long live = driver().memory().memAlloc(DEVICE, MIB);
        driver().memory().memsetD8(DEVICE, live, (byte) 42, MIB);
        assertThatThrownBy(() -> driver().memory().memAlloc(DEVICE, tooMuch))
                .isInstanceOfSatisfying(CudaException.class, e -> {
                    assertThat(e.isOutOfMemory()).isTrue();
                    assertThat(e.resultName()).isEqualTo("CUDA_ERROR_OUT_OF_MEMORY");
                    assertThat(e.function()).isEqualTo(CudaFunction.MEM_ALLOC);
                    assertThat(e).hasMessageContaining("byteSize=" + tooMuch);
                });
        assertThatThrownBy(() -> driver().memory().memAlloc(DEVICE, Long.MAX_VALUE))
                .isInstanceOf(CudaException.class);
        assertThat(firstByte(live)).isEqualTo((byte) 42);
        final long next = driver().memory().memAlloc(DEVICE, MIB);
        driver().memory().memFree(DEVICE, next);
        driver().memory().memFree(DEVICE, live);
    }

    @Test
    void freeingWhatIsNotAllocatedFails() {
        final long address = driver().memory().memAlloc(DEVICE, MIB);
        driver().memory().memFree(DEVICE, address);
        assertFails(CudaResult.INVALID_VALUE, () -> driver().memory().memFree(DEVICE, address));
        final long pinned = driver().memory().memHostAlloc(DEVICE, MIB, true);
        driver().memory().memFreeHost(DEVICE, pinned);
        assertFails(CudaResult.INVALID_VALUE, () -> driver().memory().memFreeHost(DEVICE, pinned));
    }

    @Test
    void copiesCarryEveryByte() {
        final int byteSize = 200_003;
        final byte[] pattern = new byte[byteSize];
        new Random(1).nextBytes(pattern);
        final long first = driver().memory().memAlloc(DEVICE, byteSize);
        final long second = driver().memory().memAlloc(DEVICE, byteSize);
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment source = arena.allocateFrom(ValueLayout.JAVA_BYTE, pattern);
            final MemorySegment target = arena.allocate(byteSize);
            driver().memory().memcpyHtoD(DEVICE, first, source.address(), byteSize);
            driver().memory().memcpyDtoD(DEVICE, second, first, byteSize);
            driver().memory().memcpyDtoH(DEVICE, target.address(), second, byteSize);
            assertThat(target.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(pattern);

            driver().memory().memcpyDtoH(DEVICE, target.address(), second + 70_000, 3);
            assertThat(target.asSlice(0, 3).toArray(ValueLayout.JAVA_BYTE))
                    .containsExactly(pattern[70_000], pattern[70_001], pattern[70_002]);
        }
        driver().memory().memFree(DEVICE, first);
        driver().memory().memFree(DEVICE, second);
    }

    @Test
    void aCopyOrFillOfNothingDoesNothing() {
        final long address = driver().memory().memAlloc(DEVICE, 256);
        driver().memory().memsetD8(DEVICE, address, (byte) 7, 256);
        driver().memory().memsetD8(DEVICE, address, (byte) 8, 0);
        driver().memory().memcpyDtoD(DEVICE, address, address, 0);
        assertThat(firstByte(address)).isEqualTo((byte) 7);
        driver().memory().memFree(DEVICE, address);
    }

    @Test
    void anAsynchronousCopyComesInItsStreamsOrder() {
        final long stream = driver().streams().streamCreate(DEVICE);
        final long device = driver().memory().memAlloc(DEVICE, 4096);
        final long pinned = driver().memory().memHostAlloc(DEVICE, 4096, true);
        HostSegments.at(pinned, 4096).fill((byte) 1);
        try (Stall _ = stall(stream)) {
            driver().memory().memsetD8Async(DEVICE, device, (byte) 2, 4096, stream);
            driver().memory().memcpyDtoHAsync(DEVICE, pinned, device, 4096, stream);
            assertThat(HostSegments.at(pinned, 4096).get(ValueLayout.JAVA_BYTE, 4095))
                    .isEqualTo((byte) 1);
        }
        driver().streams().streamSynchronize(DEVICE, stream);
        assertThat(HostSegments.at(pinned, 4096).get(ValueLayout.JAVA_BYTE, 4095))
                .isEqualTo((byte) 2);
        HostSegments.at(pinned, 4096).fill((byte) 3);
        driver().memory().memcpyHtoDAsync(DEVICE, device, pinned, 4096, stream);
        driver().memory().memcpyDtoDAsync(DEVICE, device, device + 2048, 2048, stream);
        driver().streams().streamSynchronize(DEVICE, stream);
        assertThat(firstByte(device)).isEqualTo((byte) 3);
        driver().memory().memFreeHost(DEVICE, pinned);
        driver().memory().memFree(DEVICE, device);
        driver().streams().streamDestroy(DEVICE, stream);
    }

    @Test
    void pinnedMemoryIsHostMemory() {
        for (boolean isPortable : new boolean[] {false, true}) {
            final long pinned = driver().memory().memHostAlloc(DEVICE, MIB, isPortable);
            final MemorySegment bytes = HostSegments.at(pinned, MIB);
            bytes.set(ValueLayout.JAVA_LONG, MIB - 8, 0x1122_3344_5566_7788L);
            assertThat(bytes.get(ValueLayout.JAVA_LONG, MIB - 8)).isEqualTo(0x1122_3344_5566_7788L);
            driver().memory().memFreeHost(DEVICE, pinned);
        }
    }

    @Test
    void managedMemoryIsSharedByHostAndDevice() {
        final long address = driver().memory().memAllocManaged(DEVICE, MIB);
        HostSegments.at(address, MIB).fill((byte) 1);
        driver().memory().memsetD8(DEVICE, address, (byte) 2, MIB / 2);
        driver().devices().ctxSynchronize(DEVICE);
        assertThat(HostSegments.at(address, MIB).get(ValueLayout.JAVA_BYTE, 0)).isEqualTo((byte) 2);
        assertThat(HostSegments.at(address, MIB).get(ValueLayout.JAVA_BYTE, MIB - 1))
                .isEqualTo((byte) 1);
        driver().memory().memFree(DEVICE, address);
    }
}
