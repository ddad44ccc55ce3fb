package allocator.onnxruntime;

/** Gives sessions of ONNX Runtime an allocator of this project. */
final class OnnxRuntimeAllocators {
    private OnnxRuntimeAllocators() {}
}
