package allocator.runtime.inspection;

import allocator.provider.support.AllocatorWrapper;
import allocator.runtime.snapshot.Snapshot.Site;
import allocator.spi.Allocator;
import allocator.spi.SyncStream;
import java.util.Map;

/**
 * Records where live blocks were allocated: of every block, or of one in so many, chosen at random. A session with the
 * option has its allocators wrapped; a session without it has nothing of this on its way.
 *
 * <p>A block that is recorded takes some microseconds for the walk of the stack.
 */
public final class CallSites extends AllocatorWrapper {
    private final Allocator target;
    private final BlockSites sites;

    /**
     * Wraps an allocator.
     *
     * @param interval 1 to record every block, more to record one in so many
     */
    public CallSites(Allocator target, int interval) {
        super(target);
        this.target = target;
        sites = new BlockSites(interval, "unknown", Frames.OF_RUNTIME);
    }

    /**
     * Adds where the live blocks of an allocator were allocated, if it was wrapped here.
     *
     * @param allocator any allocator
     * @param sites receives the sites by address
     */
    public static void addTo(Allocator allocator, String owner, Map<Long, Site> sites) {
        if (allocator instanceof CallSites wrapper) {
            wrapper.sites.addTo(owner, sites);
        }
    }

    @Override
    public long alloc(long byteSize) {
        return recorded(target.alloc(byteSize), byteSize);
    }

    @Override
    public long reserve(long byteSize) {
        return recorded(target.reserve(byteSize), byteSize);
    }

    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        return recorded(streamAware().allocOnStream(byteSize, stream), byteSize);
    }

    private long recorded(long address, long byteSize) {
        if (address != 0) {
            sites.allocated(address, byteSize);
        }
        return address;
    }

    /** Forgets a block before it is freed: its address may be allocated again at once. */
    @Override
    public void free(long address) {
        sites.freeing(address);
        target.free(address);
    }
}
