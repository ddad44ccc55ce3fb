package allocator.resource;

import allocator.provider.support.StackReserve;
import allocator.resource.base.SpinLock;
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
    private final SpinLock lock = new SpinLock();

    /** Guarded by the lock, and changed by stores that no call divides. */
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
            peakBytes = bytes + inner.peakBytes > peakBytes ? bytes + inner.peakBytes : peakBytes;
            peakBlocks = blocks + inner.peakBlocks > peakBlocks ? blocks + inner.peakBlocks : peakBlocks;
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
        final ResourceStatistics numbers;
        lock.lock();
        try {
            numbers = counts.toRecord();
            lock.unlock();
        } catch (Throwable e) {
            lock.held = 0;
            throw e;
        }
        return numbers;
    }

    /** Starts a scope inside the current one. */
    public void push() {
        lock.lock();
        try {
            counts = new Counts(counts);
            lock.unlock();
        } catch (Throwable e) {
            lock.held = 0;
            throw e;
        }
    }

    /**
     * Ends the innermost scope and adds its counts to the enclosing one.
     *
     * @return the counts of the ended scope
     * @throws IllegalStateException if there is no scope to end
     */
    public ResourceStatistics pop() {
        final ResourceStatistics ended;
        lock.lock();
        try {
            final Counts inner = counts;
            final Counts outer = inner.outer;
            if (outer == null) {
                throw new IllegalStateException("pop without push");
            }
            ended = inner.toRecord();
            outer.add(inner);
            counts = outer;
            lock.unlock();
        } catch (Throwable e) {
            lock.held = 0;
            throw e;
        }
        return ended;
    }

    @Override
    protected long doAllocate(long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        StackReserve.touchBriefly();
        final long address = allocateUpstream(byteSize, byteAlignment, stream);
        add(byteSize);
        return address;
    }

    @Override
    protected long doReserve(long byteSize, long byteAlignment) {
        StackReserve.touchBriefly();
        final long address = reserveUpstream(byteSize, byteAlignment);
        add(byteSize);
        return address;
    }

    /** Counts an allocation. */
    private void add(long byteSize) {
        lock.lock();
        final Counts now = counts;
        now.bytes += byteSize;
        now.totalBytes += byteSize;
        now.peakBytes = now.bytes > now.peakBytes ? now.bytes : now.peakBytes;
        now.blocks++;
        now.totalBlocks++;
        now.peakBlocks = now.blocks > now.peakBlocks ? now.blocks : now.peakBlocks;
        lock.unlock();
    }

    @Override
    protected void doDeallocate(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        Requests.requireSize(byteSize);
        StackReserve.touchBriefly();
        try {
            deallocateUpstream(address, byteSize, byteAlignment, stream);
        } catch (TakenBackException e) {
            subtract(byteSize);
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
