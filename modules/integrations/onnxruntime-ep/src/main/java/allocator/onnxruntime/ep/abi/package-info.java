/**
 * ONNX Runtime's binary interface for plug-in execution providers: layouts, functions, and the way from a struct to its
 * Java object.
 *
 * <p>A leaf: depends on no other package of the module. Not exported.
 */
package allocator.onnxruntime.ep.abi;
