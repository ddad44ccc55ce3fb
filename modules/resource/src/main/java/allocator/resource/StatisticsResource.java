package allocator.resource;

import allocator.provider.support.internal.BriefLock;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * Counts live, peak and total bytes and blocks. A snapshot is consistent: all its numbers are of one moment.
 *
 * <p>It only observes: a deallocation that the upstream accepts counts with the size that the caller gives.
 *
 * <p>Scopes nest: {@link #push} starts a scope that counts from zero; {@link #pop} ends it and adds its counts, peaks
 * included, to the enclosing scope. Scopes belong to the resource, not to a thread.
 */
public final class StatisticsResource extends ResourceDecorator {
    private final BriefLock lock = new BriefLock();

    /** Guarded by the lock. */
    private Counts counts = new Counts(null);

    /** The counters of one scope. */
    private static final class Counts {
        private final @Nullable Counts outer;
        private long bytes;
        private long peakBytes;
        private long totalBytes;
        private long blocks;
        private long peakBlocks;
        private long totalBlocks;

        Counts(@Nullable Counts outer) {
            this.outer = outer;
        }

        /** Counts an allocation. */
        void add(long byteSize) {
            bytes += byteSize;
            totalBytes += byteSize;
            peakBytes = Math.max(peakBytes, bytes);
            blocks++;
            totalBlocks++;
            peakBlocks = Math.max(peakBlocks, blocks);
        }

        /** Adds the counts of an inner scope; its values and peaks add to the current values here. */
        void add(Counts inner) {
            peakBytes = Math.max(peakBytes, bytes + inner.peakBytes);
            peakBlocks = Math.max(peakBlocks, blocks + inner.peakBlocks);
            bytes += inner.bytes;
            blocks += inner.blocks;
            totalBytes += inner.totalBytes;
            totalBlocks += inner.totalBlocks;
        }

        ResourceStatistics toRecord() {
            return new ResourceStatistics(bytes, peakBytes, totalBytes, blocks, peakBlocks, totalBlocks);
        }
    }

    /**
     * Decorates a resource.
     *
     * @param upstream the resource
     */
    public StatisticsResource(MemoryResource upstream) {
        super(upstream);
    }

    /** {@return the counters of the innermost scope at this moment} */
    public ResourceStatistics statistics() {
        lock.lock();
        try {
            return counts.toRecord();
        } finally {
            lock.unlock();
        }
    }

    /** Starts a scope inside the current one. */
    public void push() {
        lock.lock();
        try {
            counts = new Counts(counts);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Ends the innermost scope and adds its counts to the enclosing one.
     *
     * @return the counts of the ended scope
     * @throws IllegalStateException if there is no scope to end
     */
    public ResourceStatistics pop() {
        lock.lock();
        try {
            final Counts inner = counts;
            final Counts outer = inner.outer;
            if (outer == null) {
                throw new IllegalStateException("pop without push");
            }
            final ResourceStatistics ended = inner.toRecord();
            outer.add(inner);
            counts = outer;
            return ended;
        } finally {
            lock.unlock();
        }
    }

    @Override
    protected long doAllocate(long byteSize, long byteAlignment, @Nullable SyncStream stream, boolean isReserve) {
        final long address = allocateUpstream(byteSize, byteAlignment, stream, isReserve);
        add(byteSize);
        return address;
    }

    private void add(long byteSize) {
        lock.lock();
        try {
            counts.add(byteSize);
        } finally {
            lock.unlock();
        }
    }

    @Override
    protected void doDeallocate(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        Requests.requireSize(byteSize);
        deallocateUpstream(address, byteSize, byteAlignment, stream);
        lock.lock();
        try {
            counts.bytes -= byteSize;
            counts.blocks--;
        } finally {
            lock.unlock();
        }
    }
}
