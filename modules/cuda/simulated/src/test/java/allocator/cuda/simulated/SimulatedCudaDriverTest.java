package allocator.cuda.simulated;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.driver.HostSegments;
import allocator.cuda.driver.MemoryAccess;
import allocator.cuda.driver.PoolAttribute;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** What the simulated device does beyond a real one. */
class SimulatedCudaDriverTest {
    private static final long MIB = 1L << 20;

    private static SimulatedCudaDriver.Builder oneDevice() {
        return SimulatedCudaDriver.builder().withMemory(1024 * MIB);
    }

    private static SimulatedCudaDriver lagging() {
        final SimulatedCudaDriver driver = oneDevice().withLaggingStreams().build();
        driver.devices().primaryContextRetain(0);
        return driver;
    }

    private static SimulatedCudaDriver prompt() {
        final SimulatedCudaDriver driver = oneDevice().build();
        driver.devices().primaryContextRetain(0);
        return driver;
    }

    @Nested
    class Clock {
        @Test
        void workWaitsUntilTheClockIsAdvanced() {
            final SimulatedCudaDriver driver = lagging();
            final long stream = driver.streams().streamCreate(0);
            final AtomicInteger calls = new AtomicInteger();
            driver.streams().launchHostFunction(0, stream, calls::incrementAndGet);
            driver.streams().launchHostFunction(0, stream, calls::incrementAndGet);
            assertThat(driver.streams().streamQuery(0, stream)).isFalse();
            assertThat(driver.controls().advance(stream)).isEqualTo(2);
            assertThat(calls).hasValue(2);
            assertThat(driver.streams().streamQuery(0, stream)).isTrue();
        }

        @Test
        void aStreamAdvancesAloneOnlyToItsNextWait() {
            final SimulatedCudaDriver driver = lagging();
            final long first = driver.streams().streamCreate(0);
            final long second = driver.streams().streamCreate(0);
            final long event = driver.streams().eventCreate(0);
            driver.streams().eventRecord(0, event, first);
            driver.streams().streamWaitEvent(0, second, event);
            assertThat(driver.controls().advance(second)).isZero();
            assertThat(driver.controls().advance(first)).isEqualTo(1);
            assertThat(driver.controls().advance(second)).isEqualTo(1);
        }

        @Test
        void advancingAllIsDoneWithDestroyedStreamsToo() {
            final SimulatedCudaDriver driver = lagging();
            final long stream = driver.streams().streamCreate(0);
            final AtomicInteger calls = new AtomicInteger();
            driver.streams().launchHostFunction(0, stream, calls::incrementAndGet);
            driver.streams().streamDestroy(0, stream);
            driver.controls().advanceAll();
            assertThat(calls).hasValue(1);
        }

        @Test
        void streamsThatDoNotLagAreAlwaysDone() {
            final SimulatedCudaDriver driver = prompt();
            final long stream = driver.streams().streamCreate(0);
            final AtomicInteger calls = new AtomicInteger();
            driver.streams().launchHostFunction(0, stream, calls::incrementAndGet);
            assertThat(calls).hasValue(1);
            assertThat(driver.streams().streamQuery(0, stream)).isTrue();
        }

        @Test
        void aHostFunctionMustNotCallTheDriver() {
            final SimulatedCudaDriver driver = prompt();
            final AtomicReference<Throwable> thrown = new AtomicReference<>();
            driver.streams().launchHostFunction(0, 0, () -> {
                try {
                    driver.memory().memAlloc(0, 1);
                } catch (CudaException e) {
                    thrown.set(e);
                }
            });
            assertThat(thrown.get()).hasMessageContaining("CUDA_ERROR_NOT_PERMITTED");
        }

        @Test
        void aThreadMayWaitWhileAnotherRunsAHostFunction() throws Exception {
            final SimulatedCudaDriver driver = lagging();
            final long stream = driver.streams().streamCreate(0);
            final AtomicInteger calls = new AtomicInteger();
            for (int i = 0; i < 50; i++) {
                driver.streams().launchHostFunction(0, stream, () -> {
                    LockSupport.parkNanos(1000);
                    calls.incrementAndGet();
                });
            }
            final Thread other =
                    Thread.startVirtualThread(() -> driver.streams().streamSynchronize(0, stream));
            driver.streams().streamSynchronize(0, stream);
            assertThat(calls).hasValue(50);
            other.join();
        }
    }

    @Nested
    class Hazards {
        @Test
        void useBeforeReady() {
            final SimulatedCudaDriver driver = lagging();
            final long producer = driver.streams().streamCreate(0);
            final long consumer = driver.streams().streamCreate(0);
            final long pool = driver.pools().memPoolCreate(0);
            final long address = driver.pools().memAllocFromPoolAsync(0, pool, MIB, producer);
            assertHazard(
                    () -> driver.memory().memsetD8Async(0, address, (byte) 0, 1, consumer),
                    "cuMemsetD8Async on stream %d of device 0"
                            .formatted(driver.streams().streamGetId(0, consumer)),
                    "cuMemAllocFromPoolAsync on stream %d of device 0"
                            .formatted(driver.streams().streamGetId(0, producer)),
                    "%#x".formatted(address));
            assertThat(driver.controls().hazards()).hasSize(1);
            assertThatIllegalStateException().isThrownBy(driver::close).withMessageContaining("cuMemsetD8Async");
        }

        @Test
        void reuseWhileInFlight() {
            final SimulatedCudaDriver driver = lagging();
            final long first = driver.streams().streamCreate(0);
            final long second = driver.streams().streamCreate(0);
            final long region = driver.memory().memAlloc(0, MIB);
            driver.memory().memsetD8Async(0, region, (byte) 1, 4096, first);
            driver.memory().memsetD8Async(0, region + 4096, (byte) 2, 4096, second);
            assertHazard(() -> driver.memory().memsetD8Async(0, region + 4095, (byte) 2, 1, second), "4096 bytes at");
        }

        @Test
        void freeWhileInUse() {
            final SimulatedCudaDriver driver = lagging();
            final long user = driver.streams().streamCreate(0);
            final long other = driver.streams().streamCreate(0);
            final long pool = driver.pools().memPoolCreate(0);
            final long address = driver.pools().memAllocFromPoolAsync(0, pool, MIB, user);
            assertHazard(() -> driver.pools().memFreeAsync(0, address, other), "cuMemFreeAsync on stream");
            driver.pools().memFreeAsync(0, address, user);
        }

        @Test
        void useAfterFree() {
            final SimulatedCudaDriver driver = lagging();
            final long stream = driver.streams().streamCreate(0);
            final long pool = driver.pools().memPoolCreate(0);
            final long address = driver.pools().memAllocFromPoolAsync(0, pool, MIB, stream);
            driver.pools().memFreeAsync(0, address, stream);
            assertHazard(() -> driver.memory().memsetD8Async(0, address, (byte) 0, 1, stream), "which was freed");
        }

        @Test
        void unmappingInUse() {
            final SimulatedCudaDriver driver = lagging();
            final long stream = driver.streams().streamCreate(0);
            final long granule = driver.addressRanges().memGetAllocationGranularity(0);
            final long range = driver.addressRanges().memAddressReserve(0, granule);
            final long memory = driver.addressRanges().memCreate(0, granule);
            driver.addressRanges().memMap(0, range, granule, memory);
            driver.addressRanges().memSetAccess(0, range, granule, MemoryAccess.READ_WRITE);
            driver.memory().memsetD8Async(0, range, (byte) 0, 1, stream);
            assertHazard(() -> driver.addressRanges().memUnmap(0, range, granule), "cuMemUnmap on the host");
            driver.streams().streamSynchronize(0, stream);
            driver.addressRanges().memUnmap(0, range, granule);
        }

        @Test
        void twoReadersAreNone() {
            final SimulatedCudaDriver driver = lagging();
            final long first = driver.streams().streamCreate(0);
            final long second = driver.streams().streamCreate(0);
            final long source = driver.memory().memAlloc(0, MIB);
            final long target = driver.memory().memAlloc(0, 2 * MIB);
            driver.memory().memcpyDtoDAsync(0, target, source, MIB, first);
            driver.memory().memcpyDtoDAsync(0, target + MIB, source, MIB, second);
            assertThat(driver.controls().hazards()).isEmpty();
        }

        @Test
        void anEventOrdersTransitively() {
            final SimulatedCudaDriver driver = lagging();
            final long event = driver.streams().eventCreate(0);
            final long region = driver.memory().memAlloc(0, MIB);
            long before = driver.streams().streamCreate(0);
            for (int i = 0; i < 3; i++) {
                driver.memory().memsetD8Async(0, region, (byte) i, MIB, before);
                driver.streams().eventRecord(0, event, before);
                final long after = driver.streams().streamCreate(0);
                driver.streams().streamWaitEvent(0, after, event);
                before = after;
            }
            driver.memory().memsetD8Async(0, region, (byte) 3, MIB, before);
            assertThat(driver.controls().hazards()).isEmpty();
        }

        @Test
        void whatIsDoneIsNoHazard() {
            final SimulatedCudaDriver driver = lagging();
            final long first = driver.streams().streamCreate(0);
            final long second = driver.streams().streamCreate(0);
            final long region = driver.memory().memAlloc(0, MIB);
            driver.memory().memsetD8Async(0, region, (byte) 1, MIB, first);
            driver.controls().advance(first);
            driver.memory().memsetD8Async(0, region, (byte) 2, MIB, second);
            assertThat(driver.controls().hazards()).isEmpty();
        }

        private static void assertHazard(ThrowingCallable call, String... parts) {
            assertThatThrownBy(call).isInstanceOf(StreamHazardException.class).hasMessageContainingAll(parts);
        }
    }

    @Nested
    class Failures {
        @Test
        void theChosenCallFailsOnceAndChangesNothing() {
            final SimulatedCudaDriver driver = prompt();
            driver.controls().failOnCall(2, CudaResult.OUT_OF_MEMORY);
            final long first = driver.memory().memAlloc(0, MIB);
            assertFails(CudaResult.OUT_OF_MEMORY, () -> driver.memory().memAlloc(0, MIB));
            assertThat(driver.memory().memGetInfo(0).freeByteSize()).isEqualTo(1023 * MIB);
            driver.memory().memFree(0, first);
        }

        @Test
        void theChosenCallOfAFunctionFails() {
            final SimulatedCudaDriver driver = prompt();
            final long event = driver.streams().eventCreate(0);
            driver.controls().failOnCall(CudaFunction.EVENT_QUERY, 2, CudaResult.ILLEGAL_ADDRESS);
            driver.streams().eventQuery(0, event);
            driver.streams().eventRecord(0, event, 0);
            assertFails(CudaResult.ILLEGAL_ADDRESS, () -> driver.streams().eventQuery(0, event));
            driver.streams().eventQuery(0, event);
            assertThat(driver.controls().calls(CudaFunction.EVENT_QUERY)).isEqualTo(3);
            assertThat(driver.controls().calls(CudaFunction.EVENT_RECORD)).isEqualTo(1);
        }

        @Test
        void aFunctionFailsUntilFailuresAreCleared() {
            final SimulatedCudaDriver driver = prompt();
            driver.controls().failAlways(CudaFunction.STREAM_CREATE, CudaResult.OUT_OF_MEMORY);
            assertFails(CudaResult.OUT_OF_MEMORY, () -> driver.streams().streamCreate(0));
            assertFails(CudaResult.OUT_OF_MEMORY, () -> driver.streams().streamCreate(0));
            driver.controls().clearFailures();
            driver.streams().streamCreate(0);
        }

        /** A program that tries each call again when it fails ends as if none had failed. */
        @Test
        void everyCallMayFailOnceWithoutATrace() {
            final SimulatedCudaDriver whole = oneDevice().withLaggingStreams().build();
            run(whole, -1);
            for (int failing = 1; failing <= whole.controls().calls(); failing++) {
                final SimulatedCudaDriver driver =
                        oneDevice().withLaggingStreams().build();
                run(driver, failing);
                assertThat(driver.controls().calls())
                        .as("call %d failed", failing)
                        .isEqualTo(whole.controls().calls() + 1);
                driver.close();
            }
        }

        private static void run(SimulatedCudaDriver driver, int failing) {
            driver.controls().failOnCall(failing, CudaResult.OUT_OF_MEMORY);
            final Random random = new Random(3);
            persist(() -> driver.devices().primaryContextRetain(0));
            final List<Long> live = new ArrayList<>();
            final long[] made = new long[4];
            persist(() -> made[0] = driver.streams().streamCreate(0));
            persist(() -> made[1] = driver.streams().streamCreate(0));
            persist(() -> made[2] = driver.pools().memPoolCreate(0));
            persist(() -> made[3] = driver.streams().eventCreate(0));
            for (int i = 0; i < 40; i++) {
                if (random.nextBoolean() || live.isEmpty()) {
                    final long byteSize = random.nextLong(1, 4 * MIB);
                    persist(() -> live.add(driver.pools().memAllocFromPoolAsync(0, made[2], byteSize, made[0])));
                    final long address = live.getLast();
                    persist(() -> driver.memory().memsetD8Async(0, address, (byte) 1, byteSize, made[0]));
                } else {
                    final long address = live.remove(random.nextInt(live.size()));
                    persist(() -> driver.streams().eventRecord(0, made[3], made[0]));
                    persist(() -> driver.streams().streamWaitEvent(0, made[1], made[3]));
                    persist(() -> driver.pools().memFreeAsync(0, address, made[1]));
                    persist(() -> driver.streams().eventRecord(0, made[3], made[1]));
                    persist(() -> driver.streams().streamWaitEvent(0, made[0], made[3]));
                }
            }
            live.forEach(address -> persist(() -> driver.pools().memFreeAsync(0, address, made[0])));
            persist(() -> driver.streams().streamSynchronize(0, made[0]));
            persist(() -> assertThat(driver.pools().memPoolGetAttribute(0, made[2], PoolAttribute.USED_MEM_CURRENT))
                    .isZero());
            persist(() ->
                    assertThat(driver.memory().memGetInfo(0).freeByteSize()).isEqualTo(1024 * MIB));
            persist(() -> driver.pools().memPoolDestroy(0, made[2]));
            persist(() -> driver.streams().eventDestroy(0, made[3]));
            persist(() -> driver.streams().streamDestroy(0, made[0]));
            persist(() -> driver.streams().streamDestroy(0, made[1]));
            persist(() -> driver.devices().primaryContextRelease(0));
        }

        private static void persist(Runnable call) {
            try {
                call.run();
            } catch (CudaException e) {
                call.run();
            }
        }
    }

    @Nested
    class Leaks {
        @Test
        void closingNamesWhatIsLeft() {
            final SimulatedCudaDriver driver = prompt();
            driver.memory().memAlloc(0, 1000);
            driver.memory().memHostAlloc(0, 1, true);
            driver.pools()
                    .memAllocFromPoolAsync(
                            0,
                            driver.pools().memPoolCreate(0),
                            MIB,
                            driver.streams().streamCreate(0));
            driver.streams().eventCreate(0);
            driver.addressRanges().memAddressReserve(0, 2 * MIB);
            driver.addressRanges().memCreate(0, 2 * MIB);
            assertThatIllegalStateException()
                    .isThrownBy(driver::close)
                    .withMessageContainingAll(
                            "1024 bytes at 0x1000000000000 from cuMemAlloc, call 2",
                            "from cuMemHostAlloc",
                            "from cuMemAllocFromPoolAsync",
                            "pool 0x",
                            "stream ",
                            "event 0x",
                            "reserved addresses",
                            "physical memory",
                            "context, retained 1 times");
        }

        @Test
        void whatAContextTookWithItIsALeak() {
            final SimulatedCudaDriver driver = prompt();
            driver.memory().memAlloc(0, MIB);
            driver.streams().streamCreate(0);
            driver.devices().primaryContextRelease(0);
            assertThat(driver.controls().leaks()).hasSize(2);
            driver.devices().primaryContextRetain(0);
            assertThat(driver.memory().memGetInfo(0).freeByteSize()).isEqualTo(1024 * MIB);
        }

        @Test
        void closingTwiceDoesNothingMoreAndEndsAllCalls() {
            final SimulatedCudaDriver driver = oneDevice().build();
            driver.close();
            driver.close();
            assertFails(CudaResult.DEINITIALIZED, () -> driver.devices().primaryContextRetain(0));
        }
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
        void addressesAreUsedAgainAtOnce() {
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
        void aPoolGivesMemoryBackRatherThanFail() {
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
        void devicesAreApart() {
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
        void memoryIsCopiedBetweenThemBehindAnEvent() {
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
        void abilitiesMayBeMissing() {
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
        void destroyedHandlesAreNoticed() {
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
        void theBuilderChecksItsNumbers() {
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
