package allocator.runtime;

import allocator.provider.support.budget.Budget;
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

/**
 * Makes room where the limit of a device is reached: the other arenas of the device, of all environments of the
 * process, are shrunk one after the other until the request succeeds.
 *
 * <p>One thread does so at a time; another one waits for it up to two seconds, and then fails. The caller holds no lock
 * of the runtime or of an allocator. A shrink may wait for streams, whose work must not wait for the thread that
 * allocates.
 */
final class DevicePressure {
    private static final long MOST_WAIT_SECONDS = 2;
    private static final int MOST_LISTED = 8;
    private static final ReentrantLock LOCK = new ReentrantLock();

    /** The open environments; one that the application forgets is forgotten here too. */
    private static final Set<Environment> ENVIRONMENTS =
            Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

    private DevicePressure() {}

    static void opened(Environment environment) {
        ENVIRONMENTS.add(environment);
    }

    static void closed(Environment environment) {
        ENVIRONMENTS.remove(environment);
    }

    /**
     * Makes an allocation again that failed, if the limit of its device was the reason and others have memory to give.
     *
     * @param failure why it failed
     * @param requester the allocator of the request
     * @param call makes it again
     * @return its result
     * @throws OutOfMemoryException if there is still no room; it says who holds what
     */
    static long again(OutOfMemoryException failure, ManagedAllocator requester, LongSupplier call) {
        final MemoryInfo memory = requester.info();
        if (!Budget.hasRejected(failure, memory) || LOCK.isHeldByCurrentThread() || !lock()) {
            throw failure;
        }
        OutOfMemoryException latest = failure;
        try {
            for (final ManagedAllocator other : others(requester)) {
                if (other.isArena() && !other.isSameInstanceAs(requester) && hasReleased(other)) {
                    try {
                        return call.getAsLong();
                    } catch (OutOfMemoryException e) {
                        latest = e;
                    }
                }
            }
            throw withHolders(latest, requester);
        } finally {
            LOCK.unlock();
        }
    }

    private static boolean lock() {
        try {
            return LOCK.tryLock(MOST_WAIT_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private static boolean hasReleased(ManagedAllocator other) {
        try {
            return other.shrink().bytesReleased() > 0;
        } catch (AllocatorException e) {
            return false; // closed by now, or its device fails
        }
    }

    /** Returns the allocators of the same budget, the requester's instance among them. */
    private static List<ManagedAllocator> others(ManagedAllocator requester) {
        final Budget budget = Budget.ofMemory(requester.info());
        final List<ManagedAllocator> all = new ArrayList<>();
        for (final Environment environment : ENVIRONMENTS.toArray(new Environment[0])) {
            environment.allocators().forEach(allocator -> {
                if (Budget.ofMemory(allocator.info()) == budget && !isListed(all, allocator)) {
                    all.add(allocator);
                }
            });
        }
        return all;
    }

    private static boolean isListed(List<ManagedAllocator> all, ManagedAllocator allocator) {
        return all.stream().anyMatch(listed -> listed.isSameInstanceAs(allocator));
    }

    private static OutOfMemoryException withHolders(OutOfMemoryException failure, ManagedAllocator requester) {
        final StringBuilder holders = new StringBuilder();
        others(requester).stream().limit(MOST_LISTED).forEach(allocator -> {
            try {
                final long held = allocator.stats().bytesHeld();
                holders.append("\n  ").append(allocator).append(" holds ").append(held);
            } catch (AllocatorException e) {
                // Closed by now, or its device fails.
            }
        });
        return new OutOfMemoryException(
                "The limit of the device is reached, although the other arenas were shrunk: "
                        + Budget.ofMemory(requester.info()),
                failure.shortage(),
                failure.dump() + holders,
                failure);
    }
}
