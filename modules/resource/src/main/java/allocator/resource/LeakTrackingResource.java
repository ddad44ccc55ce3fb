package allocator.resource;

import allocator.spi.ForeignAddressException;
import allocator.spi.InvalidFreeException;
import allocator.spi.InvalidSizeException;
import allocator.spi.SyncStream;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.Arrays;
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
 * <p>With all of them, a deallocation of an unknown address or of another size is refused. A sample is drawn twice: by
 * the hash of an address, which picks other addresses in every instance, and among those by chance. So for nearly all
 * allocations outside the sample a multiplication is all that it costs when they are made, and again when they end.
 */
public final class LeakTrackingResource extends ResourceDecorator {
    private static final System.Logger LOGGER = System.getLogger(LeakTrackingResource.class.getName());
    private static final int MAX_FRAMES = 12;
    private static final long MIX = 0x9E37_79B9_7F4A_7C15L;

    /** Of how many addresses, at most, one can be in a sample. */
    private static final int MAX_ADDRESS_INTERVAL = 64;

    private final Tracker tracker;

    /** Which addresses the tracker hears of: those whose hash has the bits of {@code chosen} in {@code mask}. */
    private final long mask;

    private final long chosen;

    /** An allocation that is remembered, and where it was made. */
    private record Allocation(long byteSize, Stack stack) {}

    /**
     * The stack of an allocation, as the JVM keeps it for exceptions: a microsecond to take, a quarter of what walking
     * it costs, and made readable only for a report.
     */
    private static final class Stack extends Throwable {
        private static final long serialVersionUID = 1L;

        Stack() {
            super(null, null, false, true);
        }

        /** The stack above the innermost resources. */
        List<StackTraceElement> callers() {
            return Arrays.stream(getStackTrace())
                    .dropWhile(frame -> isOfAResource(frame.getClassName()))
                    .limit(MAX_FRAMES)
                    .toList();
        }

        private static boolean isOfAResource(String name) {
            try {
                final Class<?> type = Class.forName(name, false, LeakTrackingResource.class.getClassLoader());
                return MemoryResource.class.isAssignableFrom(type) || Tracker.class.isAssignableFrom(type);
            } catch (ClassNotFoundException | LinkageError e) {
                return false; // of a loader that this module does not see, and so a caller
            }
        }
    }

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

    private LeakTrackingResource(MemoryResource upstream, Tracker tracker, int addressInterval) {
        super(upstream);
        this.tracker = tracker;
        this.mask = (addressInterval - 1L) << Integer.SIZE;
        this.chosen = ThreadLocalRandom.current().nextLong() & mask;
    }

    /**
     * Remembers every allocation.
     *
     * @param upstream the resource
     * @return the decorator
     */
    public static LeakTrackingResource full(MemoryResource upstream) {
        return new LeakTrackingResource(upstream, new FullTracker(), 1);
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
        final int addressInterval = Math.min(interval, MAX_ADDRESS_INTERVAL);
        return new LeakTrackingResource(
                upstream, new SampledTracker(interval, interval / addressInterval), addressInterval);
    }

    /**
     * What is outstanding now.
     *
     * @return the report
     */
    public LeakReport report() {
        final Map<List<StackTraceElement>, LeakReport.Site> sites = new LinkedHashMap<>();
        tracker.outstanding()
                .map(allocation -> new LeakReport.Site(allocation.stack.callers(), allocation.byteSize, 1))
                .forEach(site -> sites.merge(
                        site.frames(),
                        site,
                        (one, two) -> new LeakReport.Site(
                                one.frames(), one.bytes() + two.bytes(), one.blocks() + two.blocks())));
        final List<LeakReport.Site> sorted = new ArrayList<>(sites.values());
        sorted.sort(Comparator.comparingLong(LeakReport.Site::bytes).reversed());
        return new LeakReport(sorted, tracker.samplingInterval());
    }

    @Override
    protected long take(long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        final long address = takeUpstream(byteSize, byteAlignment, stream);
        if (isChosen(address)) {
            tracker.allocated(address, byteSize);
        }
        return address;
    }

    private boolean isChosen(long address) {
        return ((address * MIX) & mask) == chosen;
    }

    @Override
    protected void giveBack(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        if (isChosen(address)) {
            giveBackChosen(address, byteSize, byteAlignment, stream);
        } else {
            giveBackUpstream(address, byteSize, byteAlignment, stream);
        }
    }

    private void giveBackChosen(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        final Allocation allocation = tracker.freed(address, byteSize);
        try {
            giveBackUpstream(address, byteSize, byteAlignment, stream);
        } catch (InvalidFreeException | InvalidSizeException e) {
            if (allocation != null) {
                tracker.restore(address, allocation); // it is live still
            }
            throw e;
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

    private static final class FullTracker implements Tracker {
        private final AddressTable<Allocation> live = new AddressTable<>();

        @Override
        public void allocated(long address, long byteSize) {
            restore(address, new Allocation(byteSize, new Stack()));
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
     * A sample in a table of fixed size, where an address has one place. An allocation whose place is taken is left
     * out: with a sample this only makes it a little smaller, and nothing ever searches or grows.
     */
    private static final class SampledTracker implements Tracker {
        private static final int PLACES = 1 << 14; // as many as the hash below has
        private static final long RESERVED = -1;

        private final int interval;

        /** One of how many allocations at chosen addresses is in the sample. */
        private final int chance;

        private final AtomicLongArray addresses = new AtomicLongArray(PLACES);
        private final AtomicReferenceArray<@Nullable Allocation> allocations = new AtomicReferenceArray<>(PLACES);

        SampledTracker(int interval, int chance) {
            this.interval = interval;
            this.chance = chance;
        }

        @Override
        public void allocated(long address, long byteSize) {
            if ((ThreadLocalRandom.current().nextInt() & (chance - 1)) == 0) {
                restore(address, new Allocation(byteSize, new Stack()));
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
            return (int) ((address * MIX) >>> 50);
        }
    }
}
