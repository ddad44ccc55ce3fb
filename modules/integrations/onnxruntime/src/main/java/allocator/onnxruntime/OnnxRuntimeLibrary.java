package allocator.onnxruntime;

import allocator.onnxruntime.support.OrtApi;
import allocator.onnxruntime.support.OrtLibrary;

/**
 * The native library of ONNX Runtime that the Java binding has loaded into this process.
 *
 * <p>It is loaded on first use and never unloaded. If the system property {@code onnxruntime.native.path} is set to a
 * folder, the binding and this module load the library there; otherwise the binding extracts its own, and this module
 * uses that.
 */
public final class OnnxRuntimeLibrary {
    private OnnxRuntimeLibrary() {}

    /**
     * {@return the library's version, such as {@code 1.29.0}} Loads the library if necessary.
     *
     * @throws OnnxRuntimeException if the library cannot be loaded, or its version is not one of 1.23 to 1.29
     */
    public static String version() {
        return api().version().text();
    }

    /**
     * {@return the version of the C API in use: N for ONNX Runtime 1.N} Loads the library if necessary.
     *
     * @throws OnnxRuntimeException as {@link #version}
     */
    public static int apiVersion() {
        return api().version().api();
    }

    /** Returns the functions of the library. Loads the library if necessary. */
    static OrtApi api() {
        return OrtLibrary.api();
    }
}
