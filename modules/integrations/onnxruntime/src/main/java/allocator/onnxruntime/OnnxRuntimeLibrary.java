package allocator.onnxruntime;

/**
 * The native library of ONNX Runtime that the Java binding has loaded into this process.
 *
 * <p>It is opened on first use. With the system property {@code onnxruntime.native.path} set to a folder, the binding
 * and this module open the library there; otherwise the binding extracts its own, and this module finds it already
 * loaded.
 */
public final class OnnxRuntimeLibrary {
    private OnnxRuntimeLibrary() {}

    /**
     * Makes sure that the library is loaded and its layout known.
     *
     * @return the library's version, such as {@code 1.29.0}
     * @throws OnnxRuntimeException if the library cannot be loaded, or its version is not one of 1.23 to 1.29
     */
    public static String version() {
        return OrtApi.get().version().text();
    }

    /**
     * The version of the C API in use.
     *
     * @return N for ONNX Runtime 1.N
     * @throws OnnxRuntimeException as {@link #version}
     */
    public static int apiVersion() {
        return OrtApi.get().version().api();
    }
}
