package allocator.arena.compact;

import allocator.arena.page.PageSource;
import allocator.spi.MemoryInfo;

/** Pages without memory, at addresses that are never read: for a rehearsal. */
public final class PagesWithoutMemory implements PageSource {
    private static final long PAGE_BYTES = 1 << 12;
    private static final long MEMORY_BYTES = 1 << 20;

    private final MemoryInfo info;
    private long pages;

    /**
     * Creates a source.
     *
     * @param info what the pages are said to be of
     */
    public PagesWithoutMemory(MemoryInfo info) {
        this.info = info;
    }

    @Override
    public MemoryInfo info() {
        return info;
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
        return 1L << 40;
    }

    @Override
    public void unreserve(long address, long byteSize) {}

    @Override
    public long create(int count) {
        return pages++;
    }

    @Override
    public void release(long page) {}

    @Override
    public void map(long address, long page) {}

    @Override
    public void unmap(long address) {}

    @Override
    public void close() {}
}
