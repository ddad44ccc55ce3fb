/** The installed CUDA driver, {@code libcuda.so.1}: a class for each group of functions, over the native calls. */
package allocator.cuda.driver.libcuda;
