/**
 * The shared library that ONNX Runtime loads: its bytes, its file, and its two functions.
 *
 * <p>Depends on package {@code abi} alone. Not exported.
 */
package allocator.onnxruntime.ep.library;
