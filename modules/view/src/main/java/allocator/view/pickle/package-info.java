/** Python's pickle format, as far as the viewer of PyTorch's memory snapshots reads it. Not exported. */
package allocator.view.pickle;
