package allocator.cuda.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaMemory;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.resource.MemoryKind;
import allocator.spi.AllocatorClosedException;
import allocator.spi.DeviceException;
import allocator.spi.ForeignAddressException;
import allocator.spi.MemoryType;
import allocator.spi.SyncStream;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The driver fails to take something back: it is not lost. Closing the driver proves it. */
class CudaResourceFaultsTest {
    private static final int UNKNOWN_ERROR = 999;
    private static final long MIB = 1 << 20;

    private final SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build();

    @BeforeEach
    void retain() {
        driver.devices().primaryContextRetain(0);
    }

    @AfterEach
    void close() {
        driver.devices().primaryContextRelease(0);
        driver.close();
    }

    private void fail(CudaFunction function) {
        driver.controls().failAlways(function, UNKNOWN_ERROR);
    }

    @Test
    void memoryThatTheDriverDoesNotTakeBackIsOfferedAgainBeforeARequestFails() {
        final CudaDeviceResource resource = new CudaDeviceResource(driver, 0);
        final long address = resource.allocate(MIB, 256);
        fail(CudaFunction.MEM_FREE);
        resource.deallocate(address, MIB, 256);
        driver.controls().clearFailures();
        final long all = driver.memory().memGetInfo(0).totalByteSize();
        resource.deallocate(resource.allocate(all, 256), all, 256);
    }

    @Test
    void aBlockOfMemoryWhoseDeallocationFailedAfterAllIsDeallocatedOnce() {
        final LateFailure late = new LateFailure(driver.memory());
        final DriverResource resource =
                new DriverResource(driver, CudaCalls.memory("Cuda", 0, MemoryType.DEFAULT), MemoryKind.DEVICE) {
                    @Override
                    long allocate(CudaMemory from, int device, long byteSize) {
                        return from.memAlloc(device, byteSize);
                    }

                    @Override
                    void free(CudaMemory from, int device, long address) {
                        late.free(device, address);
                    }
                };
        final long address = resource.allocate(MIB, 256);
        resource.deallocate(address, MIB, 256);
        assertThat(resource.allocate(MIB, 256)).as("the driver has taken it").isEqualTo(address);
        resource.deallocate(address, MIB, 256);
        assertThatExceptionOfType(ForeignAddressException.class)
                .isThrownBy(() -> resource.deallocate(address, MIB, 256));
    }

    /** Takes memory back, and the first time reports the failure of earlier work. */
    private static final class LateFailure {
        private final CudaMemory memory;
        private boolean hasFailed;

        LateFailure(CudaMemory memory) {
            this.memory = memory;
        }

        void free(int device, long address) {
            memory.memFree(device, address);
            if (!hasFailed) {
                hasFailed = true;
                throw new CudaException(CudaFunction.MEM_FREE, "earlier work", UNKNOWN_ERROR);
            }
        }
    }

    @Test
    void anAllocationThatFailedGoesBackWithAShrink() {
        final CudaAsyncResource resource = new CudaAsyncResource(driver, 0);
        fail(CudaFunction.STREAM_SYNCHRONIZE);
        fail(CudaFunction.MEM_FREE_ASYNC);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(() -> resource.allocate(MIB, 256));
        driver.controls().clearFailures();
        resource.shrink();
        assertThat(driver.memory().memGetInfo(0).freeByteSize())
                .isEqualTo(driver.memory().memGetInfo(0).totalByteSize());
        resource.close();
    }

    /** Leaves memory unreturned that the driver has, as where it reports the error of an earlier launch. */
    private long takenBackUnnoticed(CudaAsyncResource resource, SyncStream stream) {
        final long address = resource.allocate(MIB, 256);
        resource.deallocate(address, MIB, 256);
        fail(CudaFunction.STREAM_SYNCHRONIZE);
        fail(CudaFunction.MEM_FREE_ASYNC);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(() -> resource.allocate(MIB, 256));
        driver.controls().clearFailures();
        driver.pools().memFreeAsync(0, address, stream.handle());
        driver.streams().streamSynchronize(0, stream.handle());
        return address;
    }

    @Test
    void memoryThatTheDriverHandsOutAgainIsLive() {
        final CudaAsyncResource resource = new CudaAsyncResource(driver, 0);
        try (SyncStream stream = new DriverStream(driver, resource.memory())) {
            final long first = takenBackUnnoticed(resource, stream);
            assertThat(resource.allocate(MIB, 256)).isEqualTo(first);
            resource.shrink();
            resource.deallocate(first, MIB, 256);

            final long second = takenBackUnnoticed(resource, stream);
            assertThat(resource.allocate(MIB, 256, stream)).isEqualTo(second);
            resource.shrink();
            resource.deallocate(second, MIB, 256, stream);
        }
        resource.close();
    }

    /** The other call has the memory from the driver, and has not entered it. */
    @Test
    void aRetryBesideAnAllocationDoesNotTakeItsMemory() {
        final AtomicReference<Runnable> afterAllocation = new AtomicReference<>(() -> {});
        final CudaAsyncResource resource = new CudaAsyncResource(
                HookedDriver.of(
                        driver,
                        "memAllocFromPoolAsync",
                        () -> {},
                        () -> afterAllocation.get().run()),
                0);
        try (SyncStream stream = new DriverStream(driver, resource.memory())) {
            final long first = takenBackUnnoticed(resource, stream);
            afterAllocation.set(resource::shrink);
            assertThat(resource.allocate(MIB, 256, stream)).isEqualTo(first);
            afterAllocation.set(() -> {});
            resource.deallocate(first, MIB, 256, stream);
        }
        resource.close();
    }

    @Test
    void aPoolIsClosedAgain() {
        for (CudaFunction function : new CudaFunction[] {
            CudaFunction.STREAM_SYNCHRONIZE, CudaFunction.MEM_POOL_DESTROY, CudaFunction.STREAM_DESTROY
        }) {
            final CudaAsyncResource resource = new CudaAsyncResource(driver, 0);
            fail(function);
            assertThatExceptionOfType(DeviceException.class).isThrownBy(resource::close);
            driver.controls().clearFailures();
            resource.close();
            resource.close();
        }
    }

    @Test
    void eventsAreDestroyedByAnotherClose() {
        try (SyncStream stream = new DriverStream(driver, CudaCalls.memory("Cuda", 0, MemoryType.DEFAULT))) {
            final CudaEvents events = new CudaEvents(driver, 0);
            final long[] recorded = new long[40];
            for (int i = 0; i < recorded.length; i++) {
                recorded[i] = events.record(stream);
            }
            for (int i = 1; i < recorded.length; i++) {
                events.release(recorded[i]);
            }
            fail(CudaFunction.EVENT_DESTROY);
            assertThatExceptionOfType(DeviceException.class).isThrownBy(events::close);
            assertThatExceptionOfType(DeviceException.class).isThrownBy(() -> events.release(recorded[0]));
            driver.controls().clearFailures();
            events.close();
        }
    }

    @Test
    void noEventIsRecordedAfterTheClose() {
        try (SyncStream stream = new DriverStream(driver, CudaCalls.memory("Cuda", 0, MemoryType.DEFAULT))) {
            final CudaEvents events = new CudaEvents(driver, 0);
            final long recorded = events.record(stream);
            events.close();
            final long calls = driver.controls().calls();
            assertThatExceptionOfType(AllocatorClosedException.class).isThrownBy(() -> events.record(stream));
            assertThat(driver.controls().calls()).isEqualTo(calls);
            stream.flush();
            assertThat(events.isDone(recorded)).isTrue();
            events.release(recorded);
        }
    }
}
