package allocator.provider.support.budget;

import allocator.spi.AllocatorException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Makes room where the limit of a device is reached: what others hold of the device, in this process, is shrunk one
 * after the other until the request succeeds.
 *
 * <p>One thread does so at a time; another one waits for it up to two seconds, and then fails. The caller holds no lock
 * that a shrink may need. A shrink may wait for streams, whose work must not wait for the thread that allocates.
 */
public final class BudgetPressure {
    private static final String EXHAUSTED = " is reached, although the others were shrunk: ";
    private static final long MOST_WAIT_SECONDS = 2;
    private static final int MOST_LISTED = 8;
    private static final ReentrantLock LOCK = new ReentrantLock();

    /** One that the application forgets is forgotten here too. */
    private static final Set<Holder> HOLDERS =
            Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

    private BudgetPressure() {}

    /** What holds memory that is charged to the budgets of devices. */
    @FunctionalInterface
    public interface Holder {
        /** {@return what it holds memory by at this moment, of all devices; called without a lock} */
        List<? extends Part> parts();
    }

    /** An arena, a pool or another part of a holder. Its text names it in messages. */
    public interface Part {
        /** {@return the memory} */
        MemoryInfo memory();

        /** {@return what tells it from others; of parts with equal identities one is shrunk} */
        Object identity();

        /**
         * {@return the bytes that it holds}
         *
         * @throws AllocatorException if it is closed, or its device fails
         */
        long bytesHeld();

        /**
         * Returns unused memory to the device.
         *
         * @return how many bytes; {@code 0} also if it never can
         * @throws AllocatorException if it is closed, or its device fails
         */
        long shrink();
    }

    /**
     * Adds a holder until it is removed, or the caller and everybody else has forgotten it.
     *
     * @param holder the holder, compared by its {@code equals}
     */
    public static void add(Holder holder) {
        HOLDERS.add(holder);
    }

    /**
     * Removes a holder. Does nothing if it is not there.
     *
     * @param holder the holder
     */
    public static void remove(Holder holder) {
        HOLDERS.remove(holder);
    }

    /**
     * Makes a request again that failed, if the limit of its device was the reason and others have memory to give.
     *
     * @param failure why it failed
     * @param memory the memory of the request
     * @param requester the identity of the part that requests and has shrunk itself; {@code null} for none
     * @param call makes the request again
     * @return its result
     * @throws OutOfMemoryException if there is still no room; it says who holds what
     */
    public static long again(
            OutOfMemoryException failure, MemoryInfo memory, @Nullable Object requester, LongSupplier call) {
        if (!Budget.hasRejected(failure, memory) || hasTried(failure) || LOCK.isHeldByCurrentThread() || !lock()) {
            throw failure;
        }
        OutOfMemoryException latest;
        try {
            try {
                return call.getAsLong(); // others may have made room while this thread waited
            } catch (OutOfMemoryException e) {
                latest = e;
            }
            for (final Part other : parts(memory)) {
                if (!other.identity().equals(requester) && hasReleased(other)) {
                    try {
                        return call.getAsLong();
                    } catch (OutOfMemoryException e) {
                        latest = e;
                    }
                }
            }
            throw withHolders(latest, memory);
        } finally {
            LOCK.unlock();
        }
    }

    /** Returns whether the others were shrunk already, for a part of the same request. */
    private static boolean hasTried(OutOfMemoryException failure) {
        return String.valueOf(failure.getMessage()).contains(EXHAUSTED);
    }

    /** An interrupt does not end the wait, and stays pending. */
    private static boolean lock() {
        final long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(MOST_WAIT_SECONDS);
        boolean isInterrupted = false;
        try {
            while (true) {
                try {
                    return LOCK.tryLock(end - System.nanoTime(), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    isInterrupted = true;
                }
            }
        } finally {
            if (isInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static boolean hasReleased(Part part) {
        try {
            return part.shrink() > 0;
        } catch (AllocatorException e) {
            return false; // closed by now, or its device fails
        }
    }

    /** Returns the parts of the same budget, each once. */
    private static List<Part> parts(MemoryInfo memory) {
        final Budget budget = Budget.ofMemory(memory);
        final List<Part> all = new ArrayList<>();
        for (final Holder holder : HOLDERS.toArray(new Holder[0])) {
            for (final Part part : holder.parts()) {
                if (budget.isRelatedTo(Budget.ofMemory(part.memory()))
                        && all.stream().noneMatch(listed -> listed.identity().equals(part.identity()))) {
                    all.add(part);
                }
            }
        }
        return all;
    }

    private static OutOfMemoryException withHolders(OutOfMemoryException failure, MemoryInfo memory) {
        final StringBuilder holders = new StringBuilder();
        parts(memory).stream().limit(MOST_LISTED).forEach(part -> {
            try {
                final long held = part.bytesHeld();
                holders.append("\n  ").append(part).append(" holds ").append(held);
            } catch (AllocatorException e) {
                // Closed by now, or its device fails.
            }
        });
        return new OutOfMemoryException(
                "The limit device." + memory.location() + ".max_mem" + EXHAUSTED + Budget.ofMemory(memory),
                failure.shortage(),
                failure.dump() + holders,
                failure);
    }
}
