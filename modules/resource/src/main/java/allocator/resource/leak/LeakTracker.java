package allocator.resource.leak;

import allocator.resource.MemoryResource;
import allocator.resource.base.LiveTable;
import allocator.spi.ForeignAddressException;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Records outstanding allocations by address, for a {@link LeakTrackingResource}. */
interface LeakTracker {
    /** Spreads addresses over hash values. */
    long HASH_FACTOR = 0x9E37_79B9_7F4A_7C15L;

    /** A recorded allocation and the stack that made it. */
    record Allocation(long byteSize, CallStack stack) {}

    /** Adds a record, if the allocation belongs to the sample. */
    void allocated(long address, long byteSize);

    /** Removes a record; {@code null} if there is none. {@link #settle} follows, if there was one. */
    @Nullable
    Allocation freed(long address, long byteSize);

    /** Ends what {@link #freed} began: if the upstream rejected the deallocation, the record comes back. */
    void settle(long address, Allocation allocation, boolean isFreed);

    Stream<Allocation> outstanding();

    int samplingInterval();

    /**
     * The stack of an allocation, as the JVM fills it in for exceptions: about a microsecond, a quarter of the cost of
     * walking it. It is made readable only for a report.
     */
    final class CallStack extends Throwable {
        private static final long serialVersionUID = 1L;
        private static final int MAX_FRAMES = 12;

        CallStack() {
            super(null, null, false, true);
        }

        /** Returns the frames above the innermost resources. */
        List<StackTraceElement> callers() {
            return Arrays.stream(getStackTrace())
                    .dropWhile(frame -> isOfResource(frame.getClassName()))
                    .limit(MAX_FRAMES)
                    .toList();
        }

        private static boolean isOfResource(String name) {
            try {
                final Class<?> type = Class.forName(name, false, LeakTracker.class.getClassLoader());
                return MemoryResource.class.isAssignableFrom(type) || LeakTracker.class.isAssignableFrom(type);
            } catch (ClassNotFoundException | LinkageError e) {
                return false; // of a class loader that this module cannot see, so a caller
            }
        }
    }

    /** Records every allocation, and checks every deallocation. */
    final class Full implements LeakTracker {
        private final LiveTable<Allocation> live = new LiveTable<>(true);

        /** Makes the record and its room, before the memory is allocated. */
        Allocation prepare(long byteSize) {
            final Allocation allocation = new Allocation(byteSize, new CallStack());
            live.expect();
            return allocation;
        }

        /** Gives up the room of a record: the upstream has failed. */
        void abandon() {
            live.expectNoMore();
        }

        /** Adds the record that {@link #prepare} made. */
        void enter(long address, Allocation allocation) {
            live.add(address, allocation.byteSize, allocation);
        }

        @Override
        public void allocated(long address, long byteSize) {
            enter(address, prepare(byteSize));
        }

        @Override
        public Allocation freed(long address, long byteSize) {
            final Allocation allocation = live.takeAttached(address, byteSize);
            if (allocation == null) {
                throw new ForeignAddressException(address, "no outstanding allocation is there");
            }
            return allocation;
        }

        @Override
        public void settle(long address, Allocation allocation, boolean isFreed) {
            live.settle(address, allocation.byteSize, allocation, isFreed);
        }

        @Override
        public Stream<Allocation> outstanding() {
            return Arrays.stream(live.addresses()).mapToObj(live::attachment).filter(Objects::nonNull);
        }

        @Override
        public int samplingInterval() {
            return 1;
        }
    }

    /**
     * Records a sample in a table of fixed size, in which every address has one place. An allocation whose place is
     * taken is left out: the sample becomes slightly smaller, and no operation ever searches or grows the table.
     */
    final class Sampled implements LeakTracker {
        private static final int PLACES = 1 << 14; // as many as the hash in place() has
        private static final long RESERVED = -1;

        private final int interval;

        /** One in how many allocations at selected addresses is in the sample. */
        private final int chance;

        private final AtomicLongArray addresses = new AtomicLongArray(PLACES);
        private final AtomicReferenceArray<@Nullable Allocation> allocations = new AtomicReferenceArray<>(PLACES);

        Sampled(int interval, int chance) {
            this.interval = interval;
            this.chance = chance;
        }

        @Override
        public void allocated(long address, long byteSize) {
            if ((ThreadLocalRandom.current().nextInt() & (chance - 1)) == 0) {
                add(address, new Allocation(byteSize, new CallStack()));
            }
        }

        @Override
        public void settle(long address, Allocation allocation, boolean isFreed) {
            if (!isFreed) {
                add(address, allocation);
            }
        }

        private void add(long address, Allocation allocation) {
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
            return (int) ((address * HASH_FACTOR) >>> 50);
        }
    }
}
