/**
 * The installed CUDA driver, {@code libcuda.so.1}: one class for each group of functions, and the native calls under
 * them.
 */
package allocator.cuda.driver.libcuda;
