import org.jspecify.annotations.NullMarked;

/**
 * Allocators of this project under live ONNX Runtime sessions, and ONNX Runtime's allocators under the contract.
 *
 * <p>Start at {@link allocator.onnxruntime.OnnxRuntimeAllocators} to give sessions an allocator of this project, and at
 * {@link allocator.onnxruntime.OnnxRuntimeFactory} to use ONNX Runtime's own arena like any other provider. Calls
 * native code through {@code java.lang.foreign}: list this module and {@code com.microsoft.onnxruntime} in
 * {@code --enable-native-access}.
 *
 * @provides allocator.spi.EpFactory ONNX Runtime's own allocators
 * @uses allocator.spi.EpFactory providers selected by name
 */
// ONNX Runtime's jar has no module descriptor of its own, only a name in its manifest.
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic"})
@NullMarked
module java.allocator.onnxruntime {
    requires transitive java.allocator.spi;
    requires transitive com.microsoft.onnxruntime;
    requires com.fasterxml.jackson.core;
    requires java.allocator.provider.support;
    requires transitive java.allocator.runtime;
    requires static org.jspecify;

    exports allocator.onnxruntime;
    // Internal, no API. Qualified exports do not reach modules that a directory of providers adds.
    exports allocator.onnxruntime.block;
    exports allocator.onnxruntime.support;

    uses allocator.spi.EpFactory;

    provides allocator.spi.EpFactory with
            allocator.onnxruntime.OnnxRuntimeFactory;
}
