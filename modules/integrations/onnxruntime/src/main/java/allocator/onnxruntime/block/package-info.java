/**
 * What sessions have allocated: the sizes of live blocks, blocks that could not be freed yet, and budgets.
 *
 * <p>A leaf: depends on no other package of the module. Exported to the module of plug-in execution providers alone.
 */
package allocator.onnxruntime.block;
