package allocator.onnxruntime.ep.abi;

/** A Java object that ONNX Runtime knows by a struct. */
public interface Hosted {
    /** Returns where failures of its callbacks go. */
    FailureSink failures();
}
