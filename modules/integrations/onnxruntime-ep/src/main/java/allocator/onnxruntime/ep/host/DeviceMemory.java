package allocator.onnxruntime.ep.host;

import allocator.onnxruntime.ep.abi.EpApi;
import allocator.onnxruntime.ep.abi.EpFunction;
import allocator.onnxruntime.ep.abi.EpStructs;
import allocator.onnxruntime.support.OrtApi;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.UnsupportedMemoryException;
import java.lang.foreign.Arena;
import java.util.Arrays;

/**
 * A memory of a provider, as both sides name it.
 *
 * @param info the provider's info
 * @param ortInfo the {@code OrtMemoryInfo} of it, which is ours
 */
record DeviceMemory(MemoryInfo info, long ortInfo) {
    /** ONNX Runtime's kernels use instructions that end the process on CPU memory that is aligned to less. */
    private static final long MIN_CPU_ALIGNMENT = 64;

    /** Makes the {@code OrtMemoryInfo} of a memory. */
    static DeviceMemory of(MemoryInfo info) {
        requireSuitable(info);
        try (Arena scratch = Arena.ofConfined()) {
            return new DeviceMemory(
                    info,
                    EpApi.get()
                            .get(
                                    EpFunction.CREATE_MEMORY_INFO_V2,
                                    scratch.allocateFrom(info.name()).address(),
                                    number(info.deviceType()),
                                    info.location().vendorId(),
                                    info.deviceOrdinal(),
                                    info.memoryType() == MemoryType.DEFAULT ? 0 : EpStructs.HOST_ACCESSIBLE,
                                    info.byteAlignment(),
                                    info.isReadOnly() ? EpStructs.READ_ONLY_ALLOCATOR : OrtApi.DEVICE_ALLOCATOR));
        }
    }

    /** Returns the {@code OrtMemoryInfoDeviceType}. */
    private static int number(DeviceType type) {
        return switch (type) {
            case CPU -> 0;
            case GPU -> 1;
            case FPGA -> 2;
            case NPU -> 3;
        };
    }

    private static void requireSuitable(MemoryInfo info) {
        if (info.deviceType() == DeviceType.CPU && info.byteAlignment() < MIN_CPU_ALIGNMENT) {
            throw new IllegalArgumentException(info + " is aligned to " + info.byteAlignment()
                    + " bytes; ONNX Runtime needs " + MIN_CPU_ALIGNMENT + " of memory of a CPU");
        }
    }

    /** Returns the {@code OrtMemoryDevice} within the info. */
    long device() {
        return EpApi.get().invoke(EpFunction.MEMORY_INFO_GET_MEMORY_DEVICE, ortInfo);
    }

    /** Returns whether an {@code OrtMemoryDevice} is this one. */
    boolean isOn(long device) {
        return (EpApi.get().invoke(EpFunction.MEMORY_DEVICE_ARE_EQUAL, device(), device) & 0xFF) != 0;
    }

    /** Returns the info of a device that is not of the provider, as ONNX Runtime describes it. */
    static MemoryInfo foreign(long device) {
        final EpApi api = EpApi.get();
        final int number = (int) api.invoke(EpFunction.MEMORY_DEVICE_GET_DEVICE_TYPE, device);
        final DeviceType type = Arrays.stream(DeviceType.values())
                .filter(candidate -> number(candidate) == number)
                .findFirst()
                .orElseThrow(() -> new UnsupportedMemoryException("device type " + number + " is not known"));
        final boolean isDefault = (int) api.invoke(EpFunction.MEMORY_DEVICE_GET_MEMORY_TYPE, device) == 0;
        return new MemoryInfo(
                type + " of ONNX Runtime",
                new MemoryLocation(
                        type,
                        (int) api.invoke(EpFunction.MEMORY_DEVICE_GET_VENDOR_ID, device),
                        (int) api.invoke(EpFunction.MEMORY_DEVICE_GET_DEVICE_ID, device),
                        isDefault ? MemoryType.DEFAULT : MemoryType.HOST_ACCESSIBLE),
                1,
                AllocatorType.DEVICE);
    }

    /** Releases the {@code OrtMemoryInfo}. */
    void release() {
        EpApi.get().ort().release(OrtApi.Function.RELEASE_MEMORY_INFO, ortInfo);
    }
}
