package allocator.resource;

import allocator.spi.AllocatorStats;
import allocator.spi.SyncStream;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A resource that runs actions while its counters are read, as other threads do. */
final class HookedStats extends ResourceDecorator {
    /** Called once, before the next reading. */
    Runnable before = () -> {};

    /** Called once, after the next reading. */
    Runnable after = () -> {};

    HookedStats(MemoryResource upstream) {
        super(upstream);
    }

    @Override
    protected long doAllocate(long byteSize, long byteAlignment, @Nullable SyncStream stream, boolean isReserve) {
        return allocateUpstream(byteSize, byteAlignment, stream, isReserve);
    }

    @Override
    public Optional<AllocatorStats> stats() {
        final Runnable first = before;
        before = () -> {};
        first.run();
        final Optional<AllocatorStats> stats = super.stats();
        final Runnable last = after;
        after = () -> {};
        last.run();
        return stats;
    }
}
