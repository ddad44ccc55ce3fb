package allocator.resource;

import allocator.spi.DeviceException;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * Counts what goes through: bytes and blocks, now, at most, and in total. All numbers of a snapshot are of one moment.
 *
 * <p>Scopes nest: {@link #push} begins to count from zero, and {@link #pop} ends that and adds it to the scope around
 * it, peaks included. Scopes belong to the resource, not to a thread.
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

        /** Adds what an inner scope counted; its values and peaks stand on top of the values here. */
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
     * Counts what goes through to a resource.
     *
     * @param upstream the resource
     */
    public StatisticsResource(MemoryResource upstream) {
        super(upstream);
    }

    /**
     * The counters of the innermost scope.
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

    /** Begins a scope inside the present one. */
    public void push() {
        lock.lock();
        try {
            counts = new Counts(counts);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Ends the innermost scope and adds it to the one around it.
     *
     * @return what was counted in it
     * @throws IllegalStateException if no scope was begun
     */
    public ResourceStatistics pop() {
        lock.lock();
        try {
            final Counts inner = counts;
            if (inner.outer == null) {
                throw new IllegalStateException("pop without a push");
            }
            counts = inner.outer;
            counts.add(inner);
            return inner.toRecord();
        } finally {
            lock.unlock();
        }
    }

    @Override
    protected long take(long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        final long address = takeUpstream(byteSize, byteAlignment, stream);
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
    protected void giveBack(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        try {
            giveBackUpstream(address, byteSize, byteAlignment, stream);
        } catch (DeviceException e) {
            subtract(byteSize); // the allocation is dead all the same
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
