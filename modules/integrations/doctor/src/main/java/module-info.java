import org.jspecify.annotations.NullMarked;

/**
 * Measures the memory of a user's model under ONNX Runtime, in a JVM of its own that the {@code allocator} command
 * starts. Exports nothing: its program is {@code allocator.doctor.Main}.
 */
// ONNX Runtime's jar has no module descriptor of its own, only a name in its manifest.
@SuppressWarnings("requires-automatic")
@NullMarked
module java.allocator.doctor {
    requires com.fasterxml.jackson.core;
    requires com.microsoft.onnxruntime;
    requires java.allocator.onnxruntime;
    requires java.allocator.spi;
    requires static org.jspecify;
}
