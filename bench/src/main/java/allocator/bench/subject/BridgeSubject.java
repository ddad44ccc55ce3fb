package allocator.bench.subject;

import ai.onnxruntime.OrtEnvironment;
import allocator.onnxruntime.OnnxRuntimeAllocators;

/**
 * {@code cpu-reference} installed in ONNX Runtime, called as ONNX Runtime's native code calls it: through the function
 * pointers of the {@code OrtAllocator}. A call goes from Java to native code and from there to Java again.
 */
final class BridgeSubject extends Subject {
    private static final int PROBE_BYTES = 1000;

    private final OnnxRuntimeAllocators installation = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
            .provider("cpu-reference")
            .install();
    private final OrtAllocatorStruct struct = OrtAllocatorStruct.shared();

    BridgeSubject() {
        final long block = struct.alloc(PROBE_BYTES);
        final long used = installation.bytesInUse();
        struct.free(block);
        if (used != PROBE_BYTES) {
            throw new IllegalStateException("ONNX Runtime shares another allocator than the installed one");
        }
    }

    @Override
    public Slots slots(int count) {
        final long[] blocks = new long[count];
        return new Slots() {
            @Override
            public void alloc(int slot, int byteSize) {
                blocks[slot] = struct.alloc(byteSize);
            }

            @Override
            public void free(int slot) {
                struct.free(blocks[slot]);
            }

            @Override
            public void touch(int slot, int byteSize) {
                AddressSlots.touch(blocks[slot], byteSize);
            }
        };
    }

    @Override
    public void close() {
        installation.close();
    }
}
