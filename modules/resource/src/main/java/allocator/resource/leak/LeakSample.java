package allocator.resource.leak;

import allocator.resource.MemoryResource;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Records a sample of outstanding allocations, for a {@link LeakTrackingResource}, in a table of fixed size, in which
 * every address has one place. An allocation whose place is taken is left out: the sample becomes slightly smaller, and
 * no operation ever searches or grows the table.
 */
final class LeakSample {
    /** Spreads addresses over hash values. */
    static final long HASH_FACTOR = 0x9E37_79B9_7F4A_7C15L;

    private static final int PLACES = 1 << 14; // as many as the hash in place() has
    private static final long RESERVED = -1;

    /** One in how many allocations at selected addresses is in the sample. */
    private final int chance;

    private final AtomicLongArray addresses = new AtomicLongArray(PLACES);
    private final AtomicReferenceArray<@Nullable Allocation> allocations = new AtomicReferenceArray<>(PLACES);

    /** A recorded allocation and the stack that made it. */
    record Allocation(long byteSize, CallStack stack) {
        Allocation(long byteSize) {
            this(byteSize, new CallStack());
        }
    }

    /**
     * The stack of an allocation, as the JVM fills it in for exceptions: about a microsecond, a quarter of the cost of
     * walking it. It is made readable only for a report.
     */
    static final class CallStack extends Throwable {
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
                final Class<?> type = Class.forName(name, false, LeakSample.class.getClassLoader());
                return MemoryResource.class.isAssignableFrom(type) || type.getNestHost() == LeakSample.class;
            } catch (ClassNotFoundException | LinkageError e) {
                return false; // of a class loader that this module cannot see, so a caller
            }
        }
    }

    LeakSample(int chance) {
        this.chance = chance;
    }

    /** Adds a record, if the allocation belongs to the sample. */
    void allocated(long address, long byteSize) {
        if ((ThreadLocalRandom.current().nextInt() & (chance - 1)) == 0) {
            add(address, new Allocation(byteSize));
        }
    }

    /** Adds a record, new or one whose deallocation the upstream has rejected. */
    void add(long address, Allocation allocation) {
        final int place = place(address);
        if (addresses.compareAndSet(place, 0, RESERVED)) {
            allocations.set(place, allocation);
            addresses.set(place, address);
        }
    }

    /** Removes a record; {@code null} if there is none. */
    @Nullable
    Allocation freed(long address) {
        final int place = place(address);
        if (addresses.getAcquire(place) != address) {
            return null;
        }
        final Allocation allocation = allocations.getAndSet(place, null);
        addresses.set(place, 0);
        return allocation;
    }

    Stream<Allocation> outstanding() {
        final Stream.Builder<Allocation> all = Stream.builder();
        for (int place = 0; place < PLACES; place++) {
            final Allocation allocation = allocations.get(place);
            if (allocation != null) {
                all.add(allocation);
            }
        }
        return all.build();
    }

    private static int place(long address) {
        return (int) ((address * HASH_FACTOR) >>> 50);
    }
}
