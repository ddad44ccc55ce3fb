package allocator.cpu.reference;

import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.arena.StreamArenaAllocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.SyncStream;

/** Best fit with coalescing: what {@code arena.kind} is unless something else is asked for. */
final class CpuBfcArena extends StreamArenaAllocator implements CpuArena {
    private final HostAllocator upstream;
    private volatile boolean isClosed;

    CpuBfcArena(HostAllocator upstream, ArenaConfig config, AllocatorOptions effectiveOptions) {
        super(new BfcArena(upstream, config), effectiveOptions);
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
