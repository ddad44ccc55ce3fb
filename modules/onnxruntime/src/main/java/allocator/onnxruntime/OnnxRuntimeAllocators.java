package allocator.onnxruntime;

/** Placeholder. */
public final class OnnxRuntimeAllocators {}
