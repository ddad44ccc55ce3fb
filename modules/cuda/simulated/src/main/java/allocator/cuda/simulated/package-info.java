/** A simulated CUDA device, for tests and for proving a provider on a machine without a GPU. */
package allocator.cuda.simulated;
