import org.jspecify.annotations.NullMarked;

/**
 * Providers of this project as plug-in execution providers of ONNX Runtime.
 *
 * <p>Start at {@link allocator.onnxruntime.ep.PluginLibrary}. Calls native code through {@code java.lang.foreign}: list
 * this module, {@code java.allocator.onnxruntime} and {@code com.microsoft.onnxruntime} in
 * {@code --enable-native-access}.
 */
// ONNX Runtime's jar has no module descriptor of its own, only a name in its manifest.
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic"})
@NullMarked
module java.allocator.onnxruntime.ep {
    requires transitive java.allocator.onnxruntime;
    requires transitive java.allocator.spi;
    requires transitive com.microsoft.onnxruntime;
    requires java.allocator.provider.support;
    requires static org.jspecify;

    exports allocator.onnxruntime.ep;
}
