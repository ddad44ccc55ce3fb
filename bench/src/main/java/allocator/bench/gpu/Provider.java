package allocator.bench.gpu;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;

/** What makes the allocators of a benchmark that are called directly. */
interface Provider extends AutoCloseable {
    /** Opens a provider, or one of {@link OrtProvider}; throws if there is no such provider, or it has no device. */
    static Provider open(String name) {
        return OrtProvider.find(name).orElseGet(() -> SpiProvider.open(name));
    }

    /** Creates an allocator of the caller's own, with options beside the default ones. */
    StreamAwareAllocator allocator(AllocatorOptions options);

    void release(Allocator allocator);

    SyncStream stream();

    @Override
    void close();
}
