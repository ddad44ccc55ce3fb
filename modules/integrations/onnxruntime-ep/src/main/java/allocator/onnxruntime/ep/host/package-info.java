/**
 * The Java objects behind ONNX Runtime's structs: a provider as a factory, and its devices, allocators, streams, copies
 * and execution providers.
 *
 * <p>Depends on packages {@code abi} and {@code node}. Not exported.
 */
package allocator.onnxruntime.ep.host;
