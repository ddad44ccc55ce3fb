package allocator.cuda.arena;

import allocator.arena.ArenaAllocator;
import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.cuda.memory.CudaAllocator;
import allocator.cuda.memory.CudaDevice;
import allocator.cuda.memory.PinnedMemory;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.HostAccessibleAllocator;
import java.lang.foreign.MemorySegment;

/**
 * The arena of pinned memory. Not stream-aware: the host uses this memory as well, at once, and no stream orders that.
 * Memory is freed when no queued copy uses it any more.
 */
final class PinnedArena extends ArenaAllocator implements CudaAllocator, HostAccessibleAllocator {
    private final PinnedMemory upstream;
    private volatile boolean isClosed;

    PinnedArena(CudaDevice device, ArenaConfig config, AllocatorOptions effectiveOptions) {
        this(new PinnedMemory(device), config, effectiveOptions);
    }

    private PinnedArena(PinnedMemory upstream, ArenaConfig config, AllocatorOptions effectiveOptions) {
        super(new BfcArena(upstream, config), effectiveOptions);
        this.upstream = upstream;
    }

    @Override
    public MemorySegment segment(long address, long byteSize) {
        if (isClosed) {
            throw new AllocatorClosedException("the allocator of " + info() + " is closed");
        }
        return PinnedMemory.segmentAt(address, byteSize);
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
