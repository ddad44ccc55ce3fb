/**
 * What the modules of this integration share: ONNX Runtime's C API, functions for its callbacks, and its environment.
 *
 * <p>Depends on no other package of the module, apart from the exception.
 *
 * <p>Internal: exported for the modules of this project, without a promise across versions.
 */
package allocator.onnxruntime.support;
