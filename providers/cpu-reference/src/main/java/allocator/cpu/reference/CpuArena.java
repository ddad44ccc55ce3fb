package allocator.cpu.reference;

import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.arena.StreamArenaAllocator;
import allocator.spi.AllocatorOptions;

/** The arena over a {@link HostAllocator}: few large blocks from the C library, handed out in chunks. */
final class CpuArena extends StreamArenaAllocator implements CpuAllocator {
    private final HostAllocator upstream;

    CpuArena(HostAllocator upstream, ArenaConfig config, AllocatorOptions effectiveOptions) {
        super(new BfcArena(upstream, config), effectiveOptions);
        this.upstream = upstream;
    }

    @Override
    public void destroy() {
        close();
        upstream.destroy();
    }
}
