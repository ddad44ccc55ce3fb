package allocator.cuda.simulated;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.driver.HostSegments;
import allocator.cuda.driver.MemoryAccess;
import allocator.cuda.driver.PoolAttribute;
import allocator.provider.support.platform.Platform;
import allocator.spi.UnsupportedMemoryException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Properties of the simulated device beyond those of a real one. */
class SimulatedCudaDriverTest {
    private static final long MIB = 1L << 20;

    private static SimulatedCudaDriver.Builder oneDevice() {
        return SimulatedCudaDriver.builder().withMemory(1024 * MIB);
    }

    private static SimulatedCudaDriver prompt() {
        final SimulatedCudaDriver driver = oneDevice().build();
        driver.devices().primaryContextRetain(0);
        return driver;
    }

    /** Where there is no driver, the simulated one works: it needs the C library alone. */
    @ParameterizedTest
    @CsvSource({"Linux, aarch64", "Mac OS X, x86_64", "Mac OS X, aarch64", "Windows 11, amd64"})
    void everyPlatformOf64BitsIsServed(String system, String processor) {
        final SimulatedCudaDriver driver = oneDevice().build(new Platform(system, processor));
        driver.devices().primaryContextRetain(0);
        final long address = driver.memory().memHostAlloc(0, 1, false);
        assertThat(address % 4096).isZero();
        driver.memory().memFreeHost(0, address);
    }

    @Test
    void lessThan64BitsAreRefusedByName() {
        assertThatThrownBy(() -> oneDevice().build(new Platform("Linux", "arm")))
                .isInstanceOf(UnsupportedMemoryException.class)
                .hasMessageContainingAll("a processor of 64 bits", "this is Linux on arm");
    }

    @Nested
    class Memory {
        @Test
        void deviceAddressesAreNoHostAddresses() {
            final SimulatedCudaDriver driver =
                    SimulatedCudaDriver.builder().withDevices(3).build();
            for (int device = 0; device < 3; device++) {
                driver.devices().primaryContextRetain(device);
                assertThat(driver.memory().memAlloc(device, 1)).isGreaterThanOrEqualTo(1L << 48);
                assertThat(driver.addressRanges().memAddressReserve(device, 2 * MIB))
                        .isGreaterThanOrEqualTo(1L << 48);
                assertThat(driver.memory().memHostAlloc(device, 1, false)).isLessThan(1L << 48);
            }
        }

        @Test
        void aHugeDeviceCostsOnlyWhatIsWritten() {
            final SimulatedCudaDriver driver =
                    SimulatedCudaDriver.builder().withMemory(100L << 30).build();
            driver.devices().primaryContextRetain(0);
            final long address = driver.memory().memAlloc(0, 100L << 30);
            driver.memory().memsetD8(0, address, (byte) 1, 100L << 30);
            driver.memory().memsetD8(0, address + (50L << 30), (byte) 2, 1);
            assertThat(byteAt(driver, address + (50L << 30) - 1)).isEqualTo((byte) 1);
            assertThat(byteAt(driver, address + (50L << 30))).isEqualTo((byte) 2);
            assertThat(byteAt(driver, address + (100L << 30) - 1)).isEqualTo((byte) 1);
            driver.memory().memFree(0, address);
            driver.devices().primaryContextRelease(0);
            driver.close();
        }

        @Test
        void freshMemoryIsNotZero() {
            final SimulatedCudaDriver driver = prompt();
            assertThat(byteAt(driver, driver.memory().memAlloc(0, 1))).isNotZero();
        }

        @Test
        void addressesAreReusedAtOnce() {
            final SimulatedCudaDriver driver = prompt();
            final long address = driver.memory().memAlloc(0, 4096);
            driver.memory().memFree(0, address);
            assertThat(driver.memory().memAlloc(0, 4096)).isEqualTo(address);
        }

        @Test
        void withoutContentsCopiesAreCheckedButCopyNothing() {
            final SimulatedCudaDriver driver = oneDevice().withoutContents().build();
            driver.devices().primaryContextRetain(0);
            final long address = driver.memory().memAlloc(0, 1024);
            driver.memory().memcpyHtoD(0, address, 1, 1024);
            assertFails(CudaResult.INVALID_VALUE, () -> driver.memory().memcpyHtoD(0, address, 1, 1025));
        }

        @Test
        void mappedMemoryNeedsAccess() {
            final SimulatedCudaDriver driver = prompt();
            final long range = driver.addressRanges().memAddressReserve(0, 4 * MIB);
            final long memory = driver.addressRanges().memCreate(0, 2 * MIB);
            driver.addressRanges().memMap(0, range, 2 * MIB, memory);
            assertFails(CudaResult.INVALID_VALUE, () -> byteAt(driver, range));
            driver.addressRanges().memSetAccess(0, range, 2 * MIB, MemoryAccess.READ);
            byteAt(driver, range);
            assertFails(CudaResult.INVALID_VALUE, () -> driver.memory().memsetD8(0, range, (byte) 0, 1));
            assertFails(
                    CudaResult.INVALID_VALUE,
                    () -> driver.addressRanges().memSetAccess(0, range, 4 * MIB, MemoryAccess.READ));
            assertFails(CudaResult.INVALID_VALUE, () -> driver.addressRanges().memMap(0, range, 2 * MIB, memory));
            assertFails(
                    CudaResult.INVALID_VALUE, () -> driver.addressRanges().memMap(0, range + 4 * MIB, 2 * MIB, memory));
            assertFails(CudaResult.INVALID_VALUE, () -> driver.addressRanges().memAddressFree(0, range, 4 * MIB));
        }

        @Test
        void aPoolReturnsUnusedMemoryBeforeItFails() {
            final SimulatedCudaDriver driver = prompt();
            final long pool = driver.pools().memPoolCreate(0);
            driver.pools().memPoolSetAttribute(0, pool, PoolAttribute.RELEASE_THRESHOLD, Long.MAX_VALUE);
            final long[] parts = new long[4];
            for (int i = 0; i < parts.length; i++) {
                parts[i] = driver.pools().memAllocFromPoolAsync(0, pool, 256 * MIB, 0);
            }
            assertFails(CudaResult.OUT_OF_MEMORY, () -> driver.pools().memAllocFromPoolAsync(0, pool, 1, 0));
            for (long part : parts) {
                driver.pools().memFreeAsync(0, part, 0);
            }
            driver.streams().streamSynchronize(0, 0);
            driver.pools().memFreeAsync(0, driver.pools().memAllocFromPoolAsync(0, pool, 1024 * MIB, 0), 0);
        }

        private static byte byteAt(SimulatedCudaDriver driver, long address) {
            try (Arena arena = Arena.ofConfined()) {
                final MemorySegment target = arena.allocate(1);
                driver.memory().memcpyDtoH(0, target.address(), address, 1);
                return target.get(ValueLayout.JAVA_BYTE, 0);
            }
        }
    }

    @Nested
    class Devices {
        @Test
        void devicesAreSeparate() {
            final SimulatedCudaDriver driver =
                    oneDevice().withDevices(2).withLaggingStreams().build();
            driver.devices().primaryContextRetain(0);
            driver.devices().primaryContextRetain(1);
            final long address = driver.memory().memAlloc(0, MIB);
            final long stream = driver.streams().streamCreate(0);
            final long event = driver.streams().eventCreate(0);
            final long pool = driver.pools().memPoolCreate(0);
            assertFails(CudaResult.INVALID_VALUE, () -> driver.memory().memFree(1, address));
            assertFails(CudaResult.INVALID_VALUE, () -> driver.memory().memsetD8(1, address, (byte) 0, 1));
            assertFails(CudaResult.INVALID_HANDLE, () -> driver.streams().streamSynchronize(1, stream));
            assertFails(CudaResult.INVALID_HANDLE, () -> driver.streams().eventRecord(1, event, 0));
            assertFails(CudaResult.INVALID_VALUE, () -> driver.pools().memAllocFromPoolAsync(1, pool, 1, 0));
            assertThat(driver.memory().memGetInfo(1).freeByteSize()).isEqualTo(1024 * MIB);
            assertThat(driver.devices().info(0).uuid())
                    .isNotEqualTo(driver.devices().info(1).uuid());
        }

        @Test
        void memoryIsCopiedBetweenDevicesBehindAnEvent() {
            final SimulatedCudaDriver driver =
                    oneDevice().withDevices(2).withLaggingStreams().build();
            driver.devices().primaryContextRetain(0);
            driver.devices().primaryContextRetain(1);
            final long source = driver.memory().memAlloc(0, MIB);
            final long target = driver.memory().memAlloc(1, MIB);
            final long event = driver.streams().eventCreate(0);
            final long stream = driver.streams().streamCreate(1);
            driver.memory().memsetD8(0, source, (byte) 6, MIB);
            driver.streams().eventRecord(0, event, 0);
            driver.streams().streamWaitEvent(1, stream, event);
            driver.memory().memcpyPeerAsync(1, target, 0, source, MIB, stream);
            final long pinned = driver.memory().memHostAlloc(1, MIB, false);
            driver.memory().memcpyDtoHAsync(1, pinned, target, MIB, stream);
            driver.streams().streamSynchronize(1, stream);
            assertThat(HostSegments.at(pinned, MIB).get(ValueLayout.JAVA_BYTE, MIB - 1))
                    .isEqualTo((byte) 6);
        }

        @Test
        void capabilitiesMayBeMissing() {
            final SimulatedCudaDriver driver = oneDevice()
                    .withoutMemoryPools()
                    .withoutVirtualMemory()
                    .withDriverVersion(12_020)
                    .build();
            driver.devices().primaryContextRetain(0);
            assertThat(driver.devices().driverVersion()).isEqualTo(12_020);
            assertThat(driver.devices().info(0).hasMemoryPools()).isFalse();
            assertFails(CudaResult.NOT_SUPPORTED, () -> driver.pools().memPoolCreate(0));
            assertFails(CudaResult.NOT_SUPPORTED, () -> driver.pools().deviceGetDefaultMemPool(0));
            assertFails(CudaResult.NOT_SUPPORTED, () -> driver.addressRanges().memGetAllocationGranularity(0));
            assertFails(CudaResult.NOT_SUPPORTED, () -> driver.addressRanges().memAddressReserve(0, 2 * MIB));
        }

        @Test
        void destroyedHandlesAreDetected() {
            final SimulatedCudaDriver driver = prompt();
            final long stream = driver.streams().streamCreate(0);
            final long event = driver.streams().eventCreate(0);
            final long pool = driver.pools().memPoolCreate(0);
            driver.streams().streamDestroy(0, stream);
            driver.streams().eventDestroy(0, event);
            driver.pools().memPoolDestroy(0, pool);
            assertFails(CudaResult.INVALID_HANDLE, () -> driver.streams().streamQuery(0, stream));
            assertFails(CudaResult.INVALID_HANDLE, () -> driver.streams().eventQuery(0, event));
            assertFails(CudaResult.INVALID_VALUE, () -> driver.pools().memPoolTrimTo(0, pool, 0));
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> driver.controls().advance(stream));
        }

        @Test
        void theBuilderRejectsNumbersOutOfRange() {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> SimulatedCudaDriver.builder().withDevices(17));
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> SimulatedCudaDriver.builder().withMemory(0));
            assertThat(SimulatedCudaDriver.builder()
                            .withDevices(0)
                            .build()
                            .devices()
                            .count())
                    .isZero();
        }
    }

    private static void assertFails(int result, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        CudaException.class,
                        e -> assertThat(e.result()).as(e.getMessage()).isEqualTo(result));
    }
}
