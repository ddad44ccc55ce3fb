/**
 * ONNX Runtime and this project's allocators, in both directions.
 *
 * <p>Unless a type says otherwise, parameters and results are never {@code null}, types are safe for use by several
 * threads at once, and sizes are bytes.
 */
package allocator.onnxruntime;
