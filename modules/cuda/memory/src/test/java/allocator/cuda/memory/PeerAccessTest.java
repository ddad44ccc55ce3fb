package allocator.cuda.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceException;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The key {@code arena.peer_access}. */
class PeerAccessTest {
    private SimulatedGpu gpu;

    @AfterEach
    void close() {
        gpu.close();
    }

    private void open(SimulatedCudaDriver.Builder builder) {
        gpu = SimulatedGpu.of(builder.withDevices(3));
    }

    private Allocator create(MemoryInfo info, String peers) {
        return gpu.createAllocator(info, AllocatorOptions.EMPTY.with("arena.peer_access", peers, "test"));
    }

    private void fillFrom(int device, long address) {
        gpu.driver.memory().memsetD8(device, address, (byte) 1, 256);
    }

    /** Of a pool and of blocks: access is given in different ways. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void workOfANamedDeviceAccessesTheMemory(boolean isPool) {
        open(SimulatedCudaDriver.builder());
        gpu.driver.devices().primaryContextRetain(2);
        final Allocator allocator = create(isPool ? gpu.device(0) : gpu.readOnly(0), "gpu:0;gpu:1");
        final long block = allocator.alloc(256);
        fillFrom(0, block);
        fillFrom(1, block);
        assertThatExceptionOfType(CudaException.class)
                .isThrownBy(() -> fillFrom(2, block))
                .matches(e -> e.result() == CudaResult.INVALID_VALUE);
        allocator.free(block);
        gpu.releaseAllocator(allocator);
        gpu.driver.devices().primaryContextRelease(2);
    }

    @Test
    void withoutTheKeyNoOtherDeviceAccessesIt() {
        open(SimulatedCudaDriver.builder());
        gpu.driver.devices().primaryContextRetain(1);
        final DriverPool pool = gpu.pool();
        final long block = pool.alloc(256);
        assertThatExceptionOfType(CudaException.class).isThrownBy(() -> fillFrom(1, block));
        assertThat(pool.effectiveOptions().get(PeerAccess.KEY)).isEmpty();
        pool.free(block);
        gpu.releaseAllocator(pool);
        gpu.driver.devices().primaryContextRelease(1);
    }

    /** The settings of an instance that exists already do not change (O-05). */
    @Test
    void aSharedAllocatorKeepsItsAccess() {
        open(SimulatedCudaDriver.builder());
        final DriverPool pool = gpu.pool();
        assertThat(create(gpu.device(0), "gpu:1")).isSameAs(pool);
        assertThat(pool.effectiveOptions().get(PeerAccess.KEY)).isEmpty();
        assertThat(gpu.driver.controls().calls(CudaFunction.CTX_ENABLE_PEER_ACCESS))
                .isZero();
        gpu.releaseAllocator(pool);
        gpu.releaseAllocator(pool);
    }

    @Test
    void aDeviceThatCannotIsRejectedByName() {
        open(SimulatedCudaDriver.builder().withoutPeerAccess());
        assertThatExceptionOfType(InvalidOptionException.class)
                .isThrownBy(() -> create(gpu.device(0), "gpu:1"))
                .withMessageContaining("option arena.peer_access='gpu:1' (from test) is not")
                .withMessageContaining("the memory of gpu:0 (cuDeviceCanAccessPeer); gpu:1 cannot");
        assertThat(gpu.driver.controls().calls(CudaFunction.DEVICE_PRIMARY_CTX_RETAIN))
                .isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"gpu:3", "gpu:999"})
    void aDeviceThatDoesNotExistIsRejectedByName(String peer) {
        open(SimulatedCudaDriver.builder());
        assertThatExceptionOfType(InvalidOptionException.class)
                .isThrownBy(() -> create(gpu.device(0), peer))
                .withMessageContaining(peer + " is none");
    }

    @ParameterizedTest
    @ValueSource(strings = {"1", "gpu", "gpu:", "gpu:1,gpu:2", "gpu:1;", "gpu:1;gpu:1", "gpu:-1", "cpu:0", "gpu:9999"})
    void otherTextsAreRejected(String text) {
        open(SimulatedCudaDriver.builder());
        assertThatExceptionOfType(InvalidOptionException.class).isThrownBy(() -> create(gpu.device(0), text));
    }

    @Test
    void aFailureOfTheDriverLeavesNothing() {
        open(SimulatedCudaDriver.builder());
        gpu.driver.controls().failOnCall(CudaFunction.CTX_ENABLE_PEER_ACCESS, 1, CudaResult.ILLEGAL_ADDRESS);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(() -> create(gpu.device(0), "gpu:1"));
        gpu.driver.controls().failOnCall(CudaFunction.MEM_POOL_SET_ACCESS, 1, CudaResult.ILLEGAL_ADDRESS);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(() -> create(gpu.device(0), "gpu:1"));
        gpu.releaseAllocator(create(gpu.device(0), "gpu:1"));
    }
}
