package allocator.resource;

import allocator.spi.ForeignAddressException;
import allocator.spi.InvalidSizeException;
import allocator.spi.SyncStream;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Remembers who allocated what is not deallocated yet, for all allocations or for a sample of them. {@link #close} logs
 * what is left as a warning.
 *
 * <p>With all of them, a deallocation of an unknown address or of another size is refused. A sample costs next to nothing
 * for an allocation that is not in it: one random number when it is made, one read when it ends.
 */
public final class LeakTrackingResource extends ResourceDecorator {
    private static final System.Logger LOGGER = System.getLogger(LeakTrackingResource.class.getName());
    private static final int MAX_FRAMES = 12;
    private static final StackWalker WALKER = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);

    private final Tracker tracker;

    /** An allocation that is remembered. */
    private record Allocation(long byteSize, List<StackTraceElement> frames) {}

    /** Remembers allocations by address. */
    private interface Tracker {
        void allocated(long address, long byteSize);

        /** Forgets; {@code null} if nothing was remembered. */
        @Nullable
        Allocation freed(long address, long byteSize);

        /** Remembers again, after the upstream refused a deallocation. */
        void restore(long address, Allocation allocation);

        Stream<Allocation> outstanding();

        int samplingInterval();
    }

    private LeakTrackingResource(MemoryResource upstream, Tracker tracker) {
        super(upstream);
        this.tracker = tracker;
    }

    /**
     * Remembers every allocation.
     *
     * @param upstream the resource
     * @return the decorator
     */
    public static LeakTrackingResource full(MemoryResource upstream) {
        return new LeakTrackingResource(upstream, new FullTracker());
    }

    /**
     * Remembers a random sample.
     *
     * @param upstream the resource
     * @param interval one of how many allocations is remembered on average, a power of two
     * @return the decorator
     * @throws IllegalArgumentException if {@code interval} is not a power of two
     */
    public static LeakTrackingResource sampled(MemoryResource upstream, int interval) {
        if (Integer.bitCount(interval) != 1 || interval < 0) {
            throw new IllegalArgumentException("interval is " + interval + ", it must be a power of two");
        }
        return new LeakTrackingResource(upstream, new SampledTracker(interval));
    }

    /**
     * What is outstanding now.
     *
     * @return the report
     */
    public LeakReport report() {
        final Map<List<StackTraceElement>, LeakReport.Site> sites = new LinkedHashMap<>();
        tracker.outstanding()
                .forEach(allocation -> sites.merge(
                        allocation.frames,
                        new LeakReport.Site(allocation.frames, allocation.byteSize, 1),
                        (one, two) -> new LeakReport.Site(
                                one.frames(), one.bytes() + two.bytes(), one.blocks() + two.blocks())));
        final List<LeakReport.Site> sorted = new ArrayList<>(sites.values());
        sorted.sort(Comparator.comparingLong(LeakReport.Site::bytes).reversed());
        return new LeakReport(sorted, tracker.samplingInterval());
    }

    @Override
    protected long take(long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        final long address = takeUpstream(byteSize, byteAlignment, stream);
        tracker.allocated(address, byteSize);
        return address;
    }

    @Override
    protected void giveBack(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        final Allocation allocation = tracker.freed(address, byteSize);
        boolean isRefused = false;
        try {
            giveBackUpstream(address, byteSize, byteAlignment, stream);
        } catch (ForeignAddressException | InvalidSizeException e) {
            isRefused = true;
            throw e;
        } finally {
            if (isRefused && allocation != null) {
                tracker.restore(address, allocation);
            }
        }
    }

    /** Logs what is outstanding, if anything is. */
    @Override
    public void close() {
        final LeakReport report = report();
        if (report.blocks() > 0) {
            LOGGER.log(Level.WARNING, () -> this + ": " + report);
        }
    }

    /** The stack above the innermost resources. */
    private static List<StackTraceElement> callers() {
        return WALKER.walk(frames -> frames.dropWhile(frame -> isOfAResource(frame.getDeclaringClass()))
                .limit(MAX_FRAMES)
                .map(StackWalker.StackFrame::toStackTraceElement)
                .toList());
    }

    private static boolean isOfAResource(Class<?> type) {
        return MemoryResource.class.isAssignableFrom(type) || Tracker.class.isAssignableFrom(type);
    }

    private static final class FullTracker implements Tracker {
        private final AddressTable<Allocation> live = new AddressTable<>();

        @Override
        public void allocated(long address, long byteSize) {
            restore(address, new Allocation(byteSize, callers()));
        }

        @Override
        public void restore(long address, Allocation allocation) {
            live.lock();
            try {
                live.put(address, allocation.byteSize, allocation);
            } finally {
                live.unlock();
            }
        }

        @Override
        public @Nullable Allocation freed(long address, long byteSize) {
            live.lock();
            try {
                final int slot = live.find(address);
                if (slot < 0) {
                    throw new ForeignAddressException(address, "nothing outstanding is there");
                }
                if (live.value(slot) != byteSize) {
                    throw new InvalidSizeException(
                            byteSize,
                            "is not the " + live.value(slot) + " allocated at 0x" + Long.toHexString(address));
                }
                final Allocation allocation = live.attachment(slot);
                live.remove(slot);
                return allocation;
            } finally {
                live.unlock();
            }
        }

        @Override
        public Stream<Allocation> outstanding() {
            live.lock();
            try {
                final Stream.Builder<Allocation> all = Stream.builder();
                for (long address : live.addresses()) {
                    final Allocation allocation = live.attachment(live.find(address));
                    if (allocation != null) {
                        all.add(allocation);
                    }
                }
                return all.build();
            } finally {
                live.unlock();
            }
        }

        @Override
        public int samplingInterval() {
            return 1;
        }
    }

    /**
     * A sample in a table of fixed size, where an address has one place. An allocation whose place is taken is left out:
     * with a sample this only makes it a little smaller, and nothing ever searches or grows.
     */
    private static final class SampledTracker implements Tracker {
        private static final int PLACES = 1 << 14;
        private static final long RESERVED = -1;

        private final int interval;
        private final AtomicLongArray addresses = new AtomicLongArray(PLACES);
        private final AtomicReferenceArray<@Nullable Allocation> allocations = new AtomicReferenceArray<>(PLACES);

        SampledTracker(int interval) {
            this.interval = interval;
        }

        @Override
        public void allocated(long address, long byteSize) {
            if ((ThreadLocalRandom.current().nextInt() & (interval - 1)) == 0) {
                restore(address, new Allocation(byteSize, callers()));
            }
        }

        @Override
        public void restore(long address, Allocation allocation) {
            final int place = place(address);
            if (addresses.compareAndSet(place, 0, RESERVED)) {
                allocations.set(place, allocation);
                addresses.set(place, address);
            }
        }

        @Override
        public @Nullable Allocation freed(long address, long byteSize) {
            final int place = place(address);
            if (addresses.getAcquire(place) != address) {
                return null;
            }
            final Allocation allocation = allocations.getAndSet(place, null);
            addresses.set(place, 0);
            return allocation;
        }

        @Override
        public Stream<Allocation> outstanding() {
            final Stream.Builder<Allocation> all = Stream.builder();
            for (int place = 0; place < PLACES; place++) {
                final Allocation allocation = allocations.get(place);
                if (allocation != null) {
                    all.add(allocation);
                }
            }
            return all.build();
        }

        @Override
        public int samplingInterval() {
            return interval;
        }

        private static int place(long address) {
            return (int) ((address * 0x9E37_79B9_7F4A_7C15L) >>> 50);
        }
    }
}
