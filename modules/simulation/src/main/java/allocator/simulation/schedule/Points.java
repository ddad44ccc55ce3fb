package allocator.simulation.schedule;

import java.util.Set;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.concurrent.locks.Lock;
import java.util.function.LongSupplier;
import java.util.function.Predicate;

/** What instrumented code calls. Outside a simulated program, the methods do what they stand for. */
public final class Points {
    private static final long NANOS_PER_STEP = 100;

    private Points() {}

    /** Before an access to a field that is not final, or to an atomic: another thread may go on here. */
    public static void access() {
        final Scheduler scheduler = Scheduler.active();
        if (scheduler != null) {
            scheduler.reached();
        }
    }

    /** Before an object is created: the Java heap may end here. */
    public static void allocation() {
        final Scheduler scheduler = Scheduler.active();
        if (scheduler != null) {
            scheduler.running().allocated();
        }
    }

    /** In place of the start of a {@code synchronized} block or method. */
    public static void enter(Object monitor) {
        final Scheduler scheduler = Scheduler.active();
        if (scheduler != null) {
            scheduler.enter(monitor);
        }
    }

    /** In place of the end of a {@code synchronized} block or method. */
    public static void exit(Object monitor) {
        final Scheduler scheduler = Scheduler.active();
        if (scheduler != null) {
            scheduler.exit(monitor);
        }
    }

    /** In place of {@link Thread#holdsLock}. */
    public static boolean holdsLock(Object monitor) {
        final Scheduler scheduler = Scheduler.active();
        return scheduler != null && scheduler.holds(monitor);
    }

    /** In place of {@link Object#wait()}. */
    public static void await(Object monitor) {
        final Scheduler scheduler = Scheduler.active();
        if (scheduler == null) {
            throw new IllegalStateException("nothing can be awaited outside a simulated program");
        }
        scheduler.await(monitor);
    }

    /** In place of {@link Object#notifyAll}. */
    public static void notifyAll(Object monitor) {
        final Scheduler scheduler = Scheduler.active();
        if (scheduler != null) {
            scheduler.notifyAll(monitor);
        }
    }

    /** At the start of the initialization of a class. */
    public static void beginInitialization() {
        Scheduler.initialize(1);
    }

    /** At the end of the initialization of a class. */
    public static void endInitialization() {
        Scheduler.initialize(-1);
    }

    /** In place of {@code ConcurrentHashMap.newKeySet()}, whose order is another one in each run. */
    public static <T> Set<T> newKeySet() {
        return new OrderedSet<>();
    }

    /** In place of {@link Lock#lock}. */
    public static void lock(Lock lock) {
        final Scheduler scheduler = Scheduler.active();
        if (scheduler == null) {
            lock.lock();
            return;
        }
        scheduler.reached();
        while (!lock.tryLock()) {
            scheduler.block();
        }
    }

    /** In place of {@link Thread#onSpinWait} and {@link Thread#yield}. */
    public static void pause() {
        final Scheduler scheduler = Scheduler.active();
        if (scheduler != null) {
            scheduler.block();
        }
    }

    /** In place of {@link Thread#threadId}, which is another one in each run. */
    public static long threadId(Thread thread) {
        final Scheduler scheduler = Scheduler.active();
        return scheduler == null ? 0 : scheduler.number();
    }

    /** In place of {@link System#nanoTime}: the time passes with the steps. */
    public static long nanoTime() {
        final Scheduler scheduler = Scheduler.active();
        return scheduler == null ? 0 : scheduler.steps() * NANOS_PER_STEP;
    }

    /** In place of {@code System::nanoTime}. */
    public static LongSupplier clock() {
        return Points::nanoTime;
    }

    /** In place of {@code LockSupport.parkNanos(nanos)}. */
    public static void pause(long nanos) {
        pause();
    }

    /** In place of {@code LockSupport.parkNanos(blocker, nanos)}. */
    public static void pause(Object blocker, long nanos) {
        pause();
    }

    /** A set in the order of insertion, whose filter may change the set, as with the set that it stands for. */
    private static final class OrderedSet<T> extends CopyOnWriteArraySet<T> {
        private static final long serialVersionUID = 1L;

        @Override
        public boolean removeIf(Predicate<? super T> filter) {
            boolean isChanged = false;
            for (final T each : this) {
                isChanged |= filter.test(each) && remove(each);
            }
            return isChanged;
        }
    }
}
