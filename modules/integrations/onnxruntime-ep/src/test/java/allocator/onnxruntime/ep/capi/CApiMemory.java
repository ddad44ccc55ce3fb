package allocator.onnxruntime.ep.capi;

import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryType;

/**
 * A memory that ONNX Runtime lists.
 *
 * @param info as the contract describes it
 * @param device its {@code OrtEpDevice}
 * @param ortInfo its {@code OrtMemoryInfo}
 * @param ordinal the ordinal of its device in ONNX Runtime
 * @param hasStreams whether its allocators allocate on streams
 * @param shrinks whether its allocators can shrink
 */
record CApiMemory(MemoryInfo info, long device, long ortInfo, int ordinal, boolean hasStreams, boolean shrinks) {
    static final int DEFAULT = 0;
    static final int HOST_ACCESSIBLE = 5;

    /** Returns whether the host reaches it. */
    boolean isHost() {
        return !isDefault() || info.deviceType() == DeviceType.CPU;
    }

    /** Returns the {@code OrtDeviceMemoryType}. */
    int memoryType() {
        return isDefault() ? DEFAULT : HOST_ACCESSIBLE;
    }

    boolean isDefault() {
        return info.memoryType() == MemoryType.DEFAULT;
    }
}
