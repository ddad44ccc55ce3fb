package allocator.onnxruntime.ep.abi;

/** Receives what callbacks of ONNX Runtime throw. */
public interface FailureSink {
    /**
     * Reports a failure. Never throws: it runs beneath native code, possibly for lack of heap or stack.
     *
     * @param callback the callback, named as in ONNX Runtime's headers
     * @param cause what it threw
     * @return what ONNX Runtime's exception says of it
     */
    String report(String callback, Throwable cause);
}
