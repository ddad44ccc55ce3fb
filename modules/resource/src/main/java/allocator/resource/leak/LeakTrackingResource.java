package allocator.resource.leak;

import allocator.resource.MemoryResource;
import allocator.resource.ResourceDecorator;
import allocator.resource.leak.LeakTracker.Allocation;
import allocator.spi.SyncStream;
import java.lang.System.Logger.Level;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * Records the call stack of outstanding allocations, of all or of a random sample. {@link #close} logs those that are
 * left as a warning.
 *
 * <p>With {@link #full}, a deallocation of an unknown address or with a wrong size is rejected. With {@link #sampled},
 * nothing is checked. A sample is drawn in two steps: the hash of an address selects it, other addresses in every
 * instance, and of the allocations at selected addresses one in several is recorded. For almost all other allocations
 * the cost is one multiplication at allocation and one at deallocation.
 */
public final class LeakTrackingResource extends ResourceDecorator {
    private static final System.Logger LOGGER = System.getLogger(LeakTrackingResource.class.getName());

    /** The most addresses of which one is selected for a sample. */
    private static final int MAX_ADDRESS_INTERVAL = 64;

    private final LeakTracker tracker;

    /** The tracker, if it records every allocation. */
    private final LeakTracker.@Nullable Full full;

    /** An address is selected if its hash has the bits of {@code chosen} in {@code mask}. */
    private final long mask;

    private final long chosen;

    private LeakTrackingResource(MemoryResource upstream, LeakTracker tracker, int addressInterval) {
        super(upstream);
        this.tracker = tracker;
        this.full = tracker instanceof LeakTracker.Full all ? all : null;
        this.mask = (addressInterval - 1L) << Integer.SIZE;
        this.chosen = ThreadLocalRandom.current().nextLong() & mask;
    }

    /**
     * Decorates a resource; records every allocation.
     *
     * @param upstream the resource
     * @return the decorator
     */
    public static LeakTrackingResource full(MemoryResource upstream) {
        return new LeakTrackingResource(upstream, new LeakTracker.Full(), 1);
    }

    /**
     * Decorates a resource; records a random sample of the allocations.
     *
     * @param upstream the resource
     * @param interval one in how many allocations is recorded on average, a power of two
     * @return the decorator
     * @throws IllegalArgumentException if {@code interval} is not a power of two
     */
    public static LeakTrackingResource sampled(MemoryResource upstream, int interval) {
        if (Integer.bitCount(interval) != 1 || interval < 0) {
            throw new IllegalArgumentException("interval is " + interval + ", it must be a power of two");
        }
        final int addressInterval = Math.min(interval, MAX_ADDRESS_INTERVAL);
        return new LeakTrackingResource(
                upstream, new LeakTracker.Sampled(interval, interval / addressInterval), addressInterval);
    }

    /**
     * Returns the outstanding allocations.
     *
     * @return the report
     */
    public LeakReport report() {
        return LeakReport.of(
                tracker.outstanding()
                        .map(allocation ->
                                new LeakReport.Site(allocation.stack().callers(), allocation.byteSize(), 1)),
                tracker.samplingInterval());
    }

    @Override
    protected long doAllocate(long byteSize, long byteAlignment, @Nullable SyncStream stream, boolean isReserve) {
        if (full != null) {
            return allocateRecorded(full, byteSize, byteAlignment, stream, isReserve);
        }
        final long address = allocateUpstream(byteSize, byteAlignment, stream, isReserve);
        if (isChosen(address)) {
            sample(address, byteSize);
        }
        return address;
    }

    private long allocateRecorded(
            LeakTracker.Full records,
            long byteSize,
            long byteAlignment,
            @Nullable SyncStream stream,
            boolean isReserve) {
        final Allocation allocation = records.prepare(byteSize);
        long address = 0;
        try {
            address = allocateUpstream(byteSize, byteAlignment, stream, isReserve);
        } finally {
            if (address == 0) {
                records.abandon();
            }
        }
        records.enter(address, allocation);
        return address;
    }

    private void sample(long address, long byteSize) {
        try {
            tracker.allocated(address, byteSize);
        } catch (OutOfMemoryError e) {
            // The caller has its memory; the sample goes without this allocation.
        }
    }

    private boolean isChosen(long address) {
        return ((address * LeakTracker.HASH_FACTOR) & mask) == chosen;
    }

    @Override
    protected void doDeallocate(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        if (isChosen(address)) {
            deallocateChosen(address, byteSize, byteAlignment, stream);
        } else {
            deallocateUpstream(address, byteSize, byteAlignment, stream);
        }
    }

    private void deallocateChosen(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        final Allocation allocation = tracker.freed(address, byteSize);
        boolean isFreed = false;
        try {
            deallocateUpstream(address, byteSize, byteAlignment, stream);
            isFreed = true;
        } finally {
            if (allocation != null) {
                tracker.settle(address, allocation, isFreed);
            }
        }
    }

    /** Logs the outstanding allocations, if there are any. */
    @Override
    public void close() {
        final LeakReport report = report();
        if (report.blocks() > 0) {
            LOGGER.log(Level.WARNING, () -> this + ": " + report);
        }
    }
}
