/**
 * What the modules of this integration share: ONNX Runtime's C API, functions for its callbacks, and its environment.
 *
 * <p>Depends on no other package of the module, apart from the exception. Exported to the module of plug-in execution
 * providers alone.
 */
package allocator.onnxruntime.support;
