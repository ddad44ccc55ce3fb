package allocator.arena;

import allocator.arena.page.PageSource;
import allocator.spi.Allocator;
import allocator.spi.MemoryInfo;
import java.util.HashMap;
import java.util.Map;

/**
 * Pages that are allocations of an upstream allocator, so that what this one fails to take or return, pages fail to. An
 * address is a number, which no memory is mapped at.
 */
final class AllocatedPages implements PageSource {
    static final long PAGE_BYTES = 1 << 16;

    private static final long MEMORY_BYTES = 1L << 32;
    private static final long FIRST_ADDRESS = 1L << 40;

    private final Allocator upstream;
    private final Map<Long, Long> mapped = new HashMap<>();
    private long next = FIRST_ADDRESS;

    private AllocatedPages(Allocator upstream) {
        this.upstream = upstream;
    }

    /** Returns an arena over an upstream allocator, on such pages if the policy needs them. */
    static BfcArena arena(Allocator upstream, ArenaConfig config) {
        return config.placementPolicy() == PlacementPolicy.COMPACT
                ? BfcArena.onPages(upstream, new AllocatedPages(upstream), config)
                : new BfcArena(upstream, config);
    }

    /** Returns an arena on such pages that holds as few of them as it can, each an extent of its own. */
    static BfcArena compact(Allocator upstream, long maxPages, int maxLanes) {
        return compact(upstream, maxPages, maxLanes, Integer.MAX_VALUE);
    }

    /** Returns an arena on such pages whose extents are at most a part of what is in use. */
    static BfcArena compact(Allocator upstream, long maxPages, int maxLanes, int extentDivisor) {
        return arena(
                upstream,
                new ArenaConfig(
                        ExtendStrategy.POWER_OF_TWO,
                        1,
                        1,
                        1,
                        1,
                        maxPages * PAGE_BYTES,
                        PlacementPolicy.COMPACT,
                        maxLanes,
                        true,
                        new CompactConfig(0, 0, extentDivisor, 1, 0)));
    }

    @Override
    public MemoryInfo info() {
        return upstream.info();
    }

    @Override
    public long pageBytes() {
        return PAGE_BYTES;
    }

    @Override
    public long memoryBytes() {
        return MEMORY_BYTES;
    }

    @Override
    public long reserve(long byteSize) {
        final long address = next;
        next += byteSize;
        return address;
    }

    @Override
    public void unreserve(long address, long byteSize) {}

    @Override
    public long create(int pages) {
        return upstream.alloc(pages * PAGE_BYTES);
    }

    @Override
    public void release(long page) {
        upstream.free(page);
    }

    @Override
    public void map(long address, long page) {
        mapped.put(address, page);
    }

    @Override
    public void unmap(long address) {
        mapped.remove(address);
    }

    @Override
    public void close() {}
}
