package allocator.onnxruntime;

import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryType;

/**
 * A memory as ONNX Runtime names it. Two registrations are of the same memory if and only if these are equal.
 *
 * @param name the name in an {@code OrtMemoryInfo}
 * @param ordinal the device's ordinal
 * @param type the {@code OrtMemType}
 * @param alignment what a block's address must be a multiple of
 */
record OrtMemory(String name, int ordinal, int type, long alignment) {
    /** Begins the names of CUDA's memories. */
    static final String CUDA = "Cuda";

    /** {@code OrtMemTypeDefault}. */
    private static final int DEFAULT = 0;

    /** {@code OrtMemTypeCPUOutput}: host memory that the device reaches. */
    private static final int CPU_OUTPUT = -1;

    /** What kernels for the CPU need. */
    private static final long CPU_ALIGNMENT = 64;

    /** What {@code cudaMalloc} guarantees, and kernels for CUDA rely on. */
    private static final long CUDA_ALIGNMENT = 256;

    /** The memory of ONNX Runtime's CPU provider. */
    static final OrtMemory CPU = new OrtMemory("Cpu", 0, DEFAULT, CPU_ALIGNMENT);

    /**
     * Returns the memory of ONNX Runtime's that an allocator's memory can serve.
     *
     * @throws IllegalArgumentException if ONNX Runtime knows no such memory
     */
    static OrtMemory of(MemoryInfo memory) {
        if (memory.deviceType() == DeviceType.CPU && memory.memoryType() == MemoryType.DEFAULT) {
            return CPU;
        }
        if (memory.deviceType() == DeviceType.GPU && !memory.isReadOnly()) {
            return memory.memoryType() == MemoryType.DEFAULT
                    ? new OrtMemory(CUDA, memory.deviceOrdinal(), DEFAULT, CUDA_ALIGNMENT)
                    : new OrtMemory("CudaPinned", memory.deviceOrdinal(), CPU_OUTPUT, CPU_ALIGNMENT);
        }
        throw new IllegalArgumentException(memory + " is neither CPU memory nor memory of a CUDA device");
    }

    /**
     * Checks that blocks of a memory are aligned as ONNX Runtime needs them.
     *
     * @throws IllegalArgumentException if they are not
     */
    void requireAligned(MemoryInfo memory) {
        if (memory.byteAlignment() < alignment) {
            throw new IllegalArgumentException(
                    memory + " is aligned to " + memory.byteAlignment() + " bytes; ONNX Runtime needs " + alignment);
        }
    }
}
