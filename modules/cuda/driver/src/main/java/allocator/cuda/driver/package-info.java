/**
 * The CUDA driver API for memory, under CUDA's own names: {@link allocator.cuda.driver.CudaDrivers} finds the installed
 * driver, {@link allocator.cuda.driver.CudaDriver} calls it.
 */
package allocator.cuda.driver;
