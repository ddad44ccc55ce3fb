import org.jspecify.annotations.NullMarked;

/**
 * CUDA's memory, streams and copies under the allocator contract: what CUDA providers are made of.
 *
 * <p>A provider extends {@link allocator.cuda.memory.CudaEpFactory} and says which allocator serves which memory.
 * Devices, contexts, references, streams and copies are dealt with there, and the allocators that stand directly on the
 * driver are here: {@link allocator.cuda.memory.DeviceMemory}, {@link allocator.cuda.memory.PinnedMemory} and
 * {@link allocator.cuda.memory.DriverPool}.
 */
@NullMarked
module java.allocator.cuda.memory {
    requires transitive java.allocator.cuda.driver;
    requires transitive java.allocator.provider.support;
    requires transitive java.allocator.spi;
    requires static org.jspecify;

    exports allocator.cuda.memory;
    exports allocator.cuda.memory.check;
}
