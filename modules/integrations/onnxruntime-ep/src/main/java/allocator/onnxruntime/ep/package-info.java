/**
 * Providers as plug-in execution providers of ONNX Runtime.
 *
 * <p>Unless a type says otherwise, parameters and results are never {@code null}, types are safe for use by several
 * threads at once, and sizes are bytes.
 */
package allocator.onnxruntime.ep;
