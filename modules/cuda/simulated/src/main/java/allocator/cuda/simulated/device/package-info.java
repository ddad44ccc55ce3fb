/**
 * The simulated devices: one class for each group of functions, over addresses, memory with contents, pools, and
 * streams with a scheduler.
 */
package allocator.cuda.simulated.device;
