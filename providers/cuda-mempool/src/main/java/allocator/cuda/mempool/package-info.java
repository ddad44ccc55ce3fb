/** CUDA's own memory pools as a provider. Nothing is exported: the provider is reached through its service. */
package allocator.cuda.mempool;
