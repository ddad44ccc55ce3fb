/** A CUDA driver with simulated devices, for tests on machines without a GPU. */
package allocator.cuda.simulated;
