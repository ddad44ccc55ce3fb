package allocator.cuda.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorType;
import allocator.spi.DataTransfer;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryRange;
import allocator.spi.MemoryType;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import allocator.spi.UnsupportedMemoryException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Patterns go round from host memory through every kind of memory and back. */
class CudaTransferTest {
    private static final long SIZE = 100_000;
    private static final MemoryInfo CPU = new MemoryInfo(
            "Cpu", new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT), 1, AllocatorType.DEVICE);

    private final SimulatedGpu gpu =
            SimulatedGpu.of(SimulatedCudaDriver.builder().withDevices(2).withLaggingStreams());
    private final DataTransfer transfer = gpu.dataTransfer().orElseThrow();
    private final Arena arena = Arena.ofConfined();
    private final List<Allocator> allocators = new ArrayList<>();
    private MemoryRange host;
    private MemoryRange result;
    private MemoryRange device;
    private MemoryRange otherOnDevice;
    private MemoryRange secondDevice;
    private MemoryRange pinned;

    @BeforeEach
    void open() {
        final MemorySegment pattern = arena.allocate(SIZE);
        for (long i = 0; i < SIZE; i++) {
            pattern.set(ValueLayout.JAVA_BYTE, i, (byte) (i * 31));
        }
        host = new MemoryRange(CPU, pattern.address(), SIZE);
        result = new MemoryRange(CPU, arena.allocate(SIZE).address(), SIZE);
        device = range(gpu.device(0));
        otherOnDevice = range(gpu.device(0));
        secondDevice = range(gpu.device(1));
        pinned = range(gpu.pinned(0));
    }

    @AfterEach
    void close() {
        allocators.forEach(gpu::releaseAllocator);
        gpu.close();
        arena.close();
    }

    private MemoryRange range(MemoryInfo info) {
        final Allocator allocator = gpu.createAllocator(info, AllocatorOptions.EMPTY);
        allocators.add(allocator);
        return new MemoryRange(info, allocator.alloc(SIZE), SIZE);
    }

    private void copyAlong(@Nullable SyncStream stream, MemoryRange... ranges) {
        for (int i = 1; i < ranges.length; i++) {
            transfer.copy(ranges[i - 1], ranges[i], stream);
        }
    }

    private void assertArrived() {
        assertThat(PinnedMemory.segmentAt(result.address(), SIZE)
                        .mismatch(PinnedMemory.segmentAt(host.address(), SIZE)))
                .isEqualTo(-1);
    }

    @Test
    void withoutAStreamTheBytesAreThereOnReturn() {
        copyAlong(null, host, device, otherOnDevice, secondDevice, pinned, device, result);
        assertArrived();
    }

    @ParameterizedTest
    @ValueSource(longs = {0, SIZE})
    void aClosedStreamIsRejected(long byteSize) {
        final SyncStream stream = gpu.stream();
        stream.close();
        final MemoryRange to = new MemoryRange(device.memory(), device.address(), byteSize);
        final MemoryRange from = new MemoryRange(otherOnDevice.memory(), otherOnDevice.address(), byteSize);
        assertThatIllegalStateException().isThrownBy(() -> transfer.copy(from, to, stream));
    }

    @Test
    void aCopyWhoseWaitFailsOnceIsNotUnderWayAfterwards() {
        gpu.driver.controls().failOnCall(CudaFunction.STREAM_SYNCHRONIZE, 1, CudaResult.ILLEGAL_ADDRESS);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(() -> transfer.copy(otherOnDevice, device, null));
        assertThat(gpu.driver.streams().streamQuery(0, 0)).isTrue();
    }

    @Test
    void aCopyWithinADeviceIsDoneOnReturn() {
        copyAlong(null, host, device, otherOnDevice);
        try (SyncStream stream = gpu.stream()) {
            gpu.driver.memory().memsetD8Async(0, device.address(), (byte) 0, SIZE, stream.handle());
        }
        copyAlong(null, otherOnDevice, result);
        assertArrived();
    }

    @Test
    void onAStreamTheBytesAreThereWhenItsWorkIsDone() {
        try (SyncStream stream = gpu.stream()) {
            copyAlong(stream, host, device, otherOnDevice, pinned, device);
            assertThat(gpu.driver.streams().streamQuery(0, stream.handle())).isFalse();
            copyAlong(stream, device, result);
            stream.flush();
        }
        assertArrived();
    }

    @Test
    void aStreamOfTheOtherDeviceOrdersTheCopyToo() {
        try (SyncStream first = gpu.createSyncStream(gpu.device(0));
                SyncStream second = gpu.createSyncStream(gpu.device(1));
                SyncNotification copied = first.createNotification();
                SyncNotification done = second.createNotification()) {
            copyAlong(first, host, device, secondDevice);
            copied.activate();
            copied.waitOnDevice(second);
            copyAlong(second, secondDevice, device);
            done.activate();
            done.waitOnDevice(first);
            copyAlong(first, device, result);
        }
        assertArrived();
    }

    @Test
    void pageableMemoryCanBeLetGoAtOnce() {
        try (SyncStream stream = gpu.stream();
                Arena brief = Arena.ofConfined()) {
            final MemorySegment copy = brief.allocate(SIZE);
            copy.copyFrom(PinnedMemory.segmentAt(host.address(), SIZE));
            transfer.copy(new MemoryRange(CPU, copy.address(), SIZE), device, stream);
            copy.fill((byte) 0);
            transfer.copy(device, result, stream);
            assertArrived();
        }
    }

    @Test
    void pinnedMemoryIsCopiedByTheHostAfterTheStreamsWork() {
        try (SyncStream stream = gpu.stream()) {
            copyAlong(stream, host, device, pinned, result);
            assertArrived();
        }
    }

    @Test
    void whatCannotBeCopiedIsRefusedBeforeAByteMoves() {
        final MemoryInfo npu = new MemoryInfo(
                "Npu", new MemoryLocation(DeviceType.NPU, 0, 0, MemoryType.DEFAULT), 1, AllocatorType.DEVICE);
        assertThat(transfer.canCopy(CPU, CPU)).isFalse();
        assertThat(transfer.canCopy(npu, device.memory())).isFalse();
        assertThat(transfer.canCopy(device.memory(), CPU)).isTrue();
        assertThatExceptionOfType(UnsupportedMemoryException.class).isThrownBy(() -> transfer.copy(host, result, null));
        final MemoryRange shorter = new MemoryRange(device.memory(), device.address(), SIZE - 1);
        assertThatExceptionOfType(InvalidSizeException.class).isThrownBy(() -> transfer.copy(host, shorter, null));
        assertThatIllegalArgumentException().isThrownBy(() -> transfer.copy(host, device, new ForeignStream()));
        transfer.copy(new MemoryRange(CPU, 0, 0), new MemoryRange(device.memory(), 0, 0), null);
    }

    @Test
    void aFailedCopyLeavesNothingAndTheNextOneWorks() {
        try (SyncStream second = gpu.createSyncStream(gpu.device(1))) {
            for (CudaFunction function : List.of(
                    CudaFunction.EVENT_CREATE,
                    CudaFunction.EVENT_RECORD,
                    CudaFunction.STREAM_WAIT_EVENT,
                    CudaFunction.MEMCPY_PEER_ASYNC)) {
                gpu.driver.controls().failOnCall(function, 1, 999);
                assertThatExceptionOfType(DeviceException.class)
                        .isThrownBy(() -> transfer.copy(secondDevice, device, second));
            }
            copyAlong(second, host, secondDevice, device);
            second.flush();
        }
        copyAlong(null, device, result);
        assertArrived();
    }

    /** A stream that no CUDA device knows. */
    private static final class ForeignStream extends SyncStream {
        ForeignStream() {
            super(CPU);
        }

        @Override
        public long handle() {
            return 0;
        }

        @Override
        public SyncNotification createNotification() {
            throw new UnsupportedOperationException();
        }

        @Override
        public void flush() {}

        @Override
        public void onSessionRunEnd() {}

        @Override
        public void close() {}
    }
}
