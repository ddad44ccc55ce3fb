package allocator.resource.leak;

import allocator.resource.MemoryResource;
import allocator.resource.ResourceDecorator;
import allocator.resource.base.LiveTable;
import allocator.resource.leak.LeakSample.Allocation;
import allocator.spi.ForeignAddressException;
import allocator.spi.SyncStream;
import java.lang.System.Logger.Level;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Stream;
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

    /** Every outstanding allocation; {@code null} if a sample is recorded. */
    private final @Nullable LiveTable<Allocation> all;

    /** The sample; {@code null} if every allocation is recorded. */
    private final @Nullable LeakSample sample;

    private final int interval;

    /** An address is selected if its hash has the bits of {@code chosen} in {@code mask}. */
    private final long mask;

    private final long chosen;

    private LeakTrackingResource(MemoryResource upstream, boolean isFull, int interval) {
        super(upstream);
        final int addressInterval = Math.min(interval, MAX_ADDRESS_INTERVAL);
        this.all = isFull ? new LiveTable<>(true) : null;
        this.sample = isFull ? null : new LeakSample(interval / addressInterval);
        this.interval = interval;
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
        return new LeakTrackingResource(upstream, true, 1);
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
        return new LeakTrackingResource(upstream, false, interval);
    }

    /** {@return the outstanding allocations} */
    public LeakReport report() {
        final Stream<Allocation> outstanding = all == null
                ? Objects.requireNonNull(sample).outstanding()
                : Arrays.stream(all.addresses()).mapToObj(all::attachment).filter(Objects::nonNull);
        return LeakReport.of(
                outstanding.map(
                        allocation -> new LeakReport.Site(allocation.stack().callers(), allocation.byteSize(), 1)),
                interval);
    }

    @Override
    protected long doAllocate(long byteSize, long byteAlignment, @Nullable SyncStream stream, boolean isReserve) {
        if (all != null) {
            return allocateRecorded(all, byteSize, byteAlignment, stream, isReserve);
        }
        final long address = allocateUpstream(byteSize, byteAlignment, stream, isReserve);
        if (sample != null && isChosen(address)) {
            try {
                sample.allocated(address, byteSize);
            } catch (OutOfMemoryError e) {
                // The caller has its memory; the sample goes without this allocation.
            }
        }
        return address;
    }

    private long allocateRecorded(
            LiveTable<Allocation> live,
            long byteSize,
            long byteAlignment,
            @Nullable SyncStream stream,
            boolean isReserve) {
        final Allocation allocation = new Allocation(byteSize);
        live.expect();
        long address = 0;
        try {
            address = allocateUpstream(byteSize, byteAlignment, stream, isReserve);
        } finally {
            if (address == 0) {
                live.expectNoMore();
            }
        }
        live.add(address, byteSize, allocation);
        return address;
    }

    private boolean isChosen(long address) {
        return ((address * LeakSample.HASH_FACTOR) & mask) == chosen;
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
        final Allocation allocation =
                all != null ? all.takeAttached(address, byteSize) : sample != null ? sample.freed(address) : null;
        if (allocation == null && all != null) {
            throw new ForeignAddressException(address, "no outstanding allocation is there");
        }
        boolean isFreed = false;
        try {
            deallocateUpstream(address, byteSize, byteAlignment, stream);
            isFreed = true;
        } finally {
            if (allocation != null && all != null) {
                all.settle(address, byteSize, allocation, isFreed);
            } else if (allocation != null && sample != null && !isFreed) {
                sample.add(address, allocation);
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
