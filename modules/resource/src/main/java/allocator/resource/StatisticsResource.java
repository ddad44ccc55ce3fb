package allocator.resource;

import allocator.resource.base.SpinLock;
import allocator.spi.DeviceException;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * Counts live, peak and total bytes and blocks. A snapshot is consistent: all its numbers are of one moment.
 *
 * <p>Scopes nest: {@link #push} starts a scope that counts from zero; {@link #pop} ends it and adds its counts, peaks
 * included, to the enclosing scope. Scopes belong to the resource, not to a thread.
 */
public final class StatisticsResource extends ResourceDecorator {
    private final SpinLock lock = new SpinLock();

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

    /**
     * Returns the counters of the innermost scope.
     *
     * @return its numbers at this moment
     */
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
            if (inner.outer == null) {
                throw new IllegalStateException("pop without push");
            }
            counts = inner.outer;
            counts.add(inner);
            return inner.toRecord();
        } finally {
            lock.unlock();
        }
    }

    @Override
    protected long doAllocate(long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        final long address = allocateUpstream(byteSize, byteAlignment, stream);
        lock.lock();
        final Counts now = counts;
        now.bytes += byteSize;
        now.totalBytes += byteSize;
        now.peakBytes = Math.max(now.peakBytes, now.bytes);
        now.blocks++;
        now.totalBlocks++;
        now.peakBlocks = Math.max(now.peakBlocks, now.blocks);
        lock.unlock();
        return address;
    }

    @Override
    protected void doDeallocate(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        try {
            deallocateUpstream(address, byteSize, byteAlignment, stream);
        } catch (DeviceException e) {
            subtract(byteSize); // no longer live
            throw e;
        }
        subtract(byteSize);
    }

    private void subtract(long byteSize) {
        lock.lock();
        final Counts now = counts;
        now.bytes -= byteSize;
        now.blocks--;
        lock.unlock();
    }
}
