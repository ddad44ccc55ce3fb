/** CUDA memory in arenas as a provider. Nothing is exported: the provider is reached through its service. */
package allocator.cuda.arena;
