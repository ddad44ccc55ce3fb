/**
 * Resources over a CUDA driver, real or simulated: device, unified, pinned and stream-ordered memory, and the events of
 * streams.
 *
 * <p>A {@link allocator.spi.SyncStream} that is passed here has the driver's stream as its handle. The primary context
 * of the device is retained by whoever makes a resource, for as long as the resource is used.
 */
package allocator.cuda.resource;
