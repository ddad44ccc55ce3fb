/**
 * Memory resources and stream events over a CUDA driver, real or simulated: device, pinned, managed and stream-ordered
 * memory.
 *
 * <p>A {@link allocator.spi.SyncStream} passed to a resource must have the driver's stream as its handle, and stay open
 * until the call has returned; one that is closed is rejected before its handle reaches the driver. The caller retains
 * the primary context of the device for as long as a resource is used.
 */
package allocator.cuda.resource;
