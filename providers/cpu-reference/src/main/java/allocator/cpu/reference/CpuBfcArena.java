package allocator.cpu.reference;

import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.arena.PlacementPolicy;
import allocator.arena.StreamArenaAllocator;
import allocator.provider.support.platform.Platform;
import allocator.spi.AllocatorOptions;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/** Best fit with coalescing: what {@code arena.kind} is unless something else is asked for. */
final class CpuBfcArena extends StreamArenaAllocator implements CpuArena {
    private final HostAllocator upstream;

    /** The memory of chunks; {@code null} where regions of {@link #upstream} are. */
    private final @Nullable HostPages pages;

    private volatile boolean isClosed;

    private CpuBfcArena(
            HostAllocator upstream, @Nullable HostPages pages, BfcArena arena, AllocatorOptions effectiveOptions) {
        super(arena, effectiveOptions);
        this.upstream = upstream;
        this.pages = pages;
    }

    /** Creates an arena, on pages of the host if the policy needs them. */
    static CpuBfcArena of(
            HostAllocator upstream, Platform platform, ArenaConfig config, AllocatorOptions effectiveOptions) {
        if (config.placementPolicy() != PlacementPolicy.COMPACT) {
            return new CpuBfcArena(upstream, null, new BfcArena(upstream, config), effectiveOptions);
        }
        final HostPages pages = new HostPages(upstream.info(), HostPages.pageBytesFor(config.maxMem()), platform);
        try {
            return new CpuBfcArena(upstream, pages, BfcArena.onPages(upstream, pages, config), effectiveOptions);
        } catch (Throwable e) { // the end of the Java heap
            pages.close();
            throw e;
        }
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
            destroyUpstream();
        }
    }

    /** Returns what the close failed to return as well. */
    private void destroyUpstream() {
        try {
            upstream.destroy();
        } finally {
            if (pages != null) {
                pages.close();
            }
        }
    }
}
