/**
 * CUDA's driver interface in its own terms: {@link allocator.cuda.driver.CudaDrivers} finds out whether there is one,
 * {@link allocator.cuda.driver.CudaDriver} calls it.
 */
package allocator.cuda.driver;
