/**
 * What CUDA providers are made of. A driver's refusal leaves this package as an
 * {@link allocator.spi.OutOfMemoryException} if memory ran out, and as an {@link allocator.spi.DeviceException}
 * otherwise.
 */
package allocator.cuda.memory;
