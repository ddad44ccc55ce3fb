package allocator.cpu.reference;

import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.arena.StreamArenaAllocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.SyncStream;

/** The arena over a {@link HostAllocator}: few large blocks from the system, handed out in chunks. */
final class CpuArena extends StreamArenaAllocator implements CpuAllocator {
    private final HostAllocator upstream;

    CpuArena(HostAllocator upstream, ArenaConfig config, AllocatorOptions effectiveOptions) {
        super(new BfcArena(upstream, config), effectiveOptions);
        this.upstream = upstream;
    }

    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        requireOpen(stream);
        final long address = super.allocOnStream(byteSize, stream);
        if (stream instanceof CpuStream cpuStream && cpuStream.isClosed()) {
            // Closed meanwhile, and perhaps released before the memory was tied to it.
            free(address);
            releaseStream(stream);
            requireOpen(stream);
        }
        return address;
    }

    private static void requireOpen(SyncStream stream) {
        if (stream instanceof CpuStream cpuStream && cpuStream.isClosed()) {
            throw new IllegalStateException(stream + " is closed");
        }
    }

    @Override
    public void destroy() {
        close();
        upstream.destroy();
    }
}
