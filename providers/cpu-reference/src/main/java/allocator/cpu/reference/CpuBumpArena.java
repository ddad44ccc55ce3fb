package allocator.cpu.reference;

import allocator.arena.bump.BumpAllocator;
import allocator.arena.bump.BumpConfig;
import allocator.spi.AllocatorOptions;
import allocator.spi.SyncStream;

/** Bump allocation, for {@code arena.kind=bump}. */
final class CpuBumpArena extends BumpAllocator implements CpuArena {
    private final HostAllocator upstream;

    CpuBumpArena(HostAllocator upstream, BumpConfig config, long maxMem, AllocatorOptions effectiveOptions) {
        super(upstream, config, maxMem, effectiveOptions);
        this.upstream = upstream;
    }

    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        CpuArena.requireOpen(stream);
        return requireStillOpen(stream, super.allocOnStream(byteSize, stream));
    }

    @Override
    public void destroy() {
        close();
        upstream.destroy();
    }
}
