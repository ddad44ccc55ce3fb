/**
 * Nodes of a model, and the ones that run in plain Java.
 *
 * <p>Depends on package {@code abi} alone. Not exported.
 */
package allocator.onnxruntime.ep.node;
