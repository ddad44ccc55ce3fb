package allocator.cpu.reference;

import allocator.arena.bump.BumpAllocator;
import allocator.arena.bump.BumpConfig;
import allocator.spi.AllocatorOptions;
import allocator.spi.SyncStream;

/** Bump allocation, for {@code arena.kind=bump}. */
final class CpuBumpArena extends BumpAllocator implements CpuArena {
    private final HostAllocator upstream;
    private volatile boolean isClosed;

    CpuBumpArena(HostAllocator upstream, BumpConfig config, long maxMem, AllocatorOptions effectiveOptions) {
        super(upstream, config, maxMem, effectiveOptions);
        this.upstream = upstream;
    }

    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        use(stream);
        return requireStillOpen(stream, super.allocOnStream(byteSize, stream));
    }

    @Override
    public boolean isClosed() {
        return isClosed;
    }

    @Override
    public void destroy() {
        try {
            if (!isClosed) {
                isClosed = true;
                close();
            }
        } finally {
            upstream.destroy(); // returns what the close failed to return as well
        }
    }
}
