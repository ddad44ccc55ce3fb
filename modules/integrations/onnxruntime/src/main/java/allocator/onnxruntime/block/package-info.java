/**
 * What sessions have allocated: the sizes of live blocks, blocks that could not be freed yet, and budgets.
 *
 * <p>A leaf: depends on no other package of the module.
 *
 * <p>Internal: exported for the modules of this project, without a promise across versions.
 */
package allocator.onnxruntime.block;
