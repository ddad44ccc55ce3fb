/**
 * Memory resources and stream events over a CUDA driver, real or simulated: device, pinned, managed and stream-ordered
 * memory.
 *
 * <p>A {@link allocator.spi.SyncStream} passed to a resource must have the driver's stream as its handle. The caller
 * retains the primary context of the device for as long as a resource is used.
 */
package allocator.cuda.resource;
