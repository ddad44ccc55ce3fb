package allocator.runtime.inspection;

import allocator.provider.support.StackReserve;
import allocator.runtime.discovery.Log;
import allocator.runtime.metrics.AllocatorListener;
import allocator.runtime.metrics.Observation;
import allocator.runtime.metrics.ObservedAllocator;
import allocator.runtime.snapshot.Snapshot.User;
import allocator.spi.AllocatorStats;
import allocator.spi.MemoryInfo;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The listeners of an environment, and the instances that they know. Without a listener a change costs the read of a
 * field; with one, time proportional to the number of sessions.
 *
 * <p>What a listener misses where the Java heap or the stack ends, it learns at the next change: each has a list of
 * what it has learned, and is called only with stack enough for a call of foreign code.
 */
public final class Observers {
    private final Supplier<Stream<AllocatorUse>> uses;
    private final Object lock = new Object();
    private volatile boolean isObserved;
    private boolean isEnded;

    /** By the entry of the instance. Like what follows, guarded by the lock. */
    private Map<Object, Observed> known = new LinkedHashMap<>();

    private final ArrayList<Observer> observers = new ArrayList<>();
    private long lastNumber;

    /** A listener, and what it has learned. */
    private static final class Observer {
        private final AllocatorListener listener;

        /** What was added and not removed. */
        private final List<Observed> learned = new ArrayList<>();

        /** The highest number of what was added. */
        private long lastAdded;

        private boolean isEnded;

        Observer(AllocatorListener listener) {
            this.listener = listener;
        }

        /** Returns what is over and was not removed, in the order in which it was added. */
        List<Observed> toRemove() {
            return learned.stream().filter(each -> isEnded || each.isReleased).toList();
        }

        /** Returns what is in use and was not added, in the order of the numbers. */
        List<Observed> toAdd(Collection<Observed> inUse) {
            return inUse.stream()
                    .filter(each -> !isEnded && each.number > lastAdded)
                    .sorted(Comparator.comparingLong(Observed::number))
                    .toList();
        }

        /** Calls the listener, unless a call of the environment in an earlier one has done so. */
        void remove(Observed observed) {
            StackReserve.touchDeep();
            if (learned.remove(observed)) {
                try {
                    listener.removed(observed);
                } catch (Throwable e) {
                    Log.failed("a listener", observed.memory, e);
                }
            }
        }

        /** Calls the listener as {@link #remove} does, unless it has ended its observation. */
        void add(Observed observed) {
            StackReserve.touchDeep();
            if (!isEnded && observed.number > lastAdded && !observed.isReleased) {
                learned.add(observed);
                lastAdded = observed.number;
                try {
                    listener.added(observed);
                } catch (Throwable e) {
                    Log.failed("a listener", observed.memory, e);
                }
            }
        }
    }

    /**
     * Creates an instance without listeners.
     *
     * @param uses lists all uses at a moment, without the lock of the environment
     */
    public Observers(Supplier<Stream<AllocatorUse>> uses) {
        this.uses = uses;
    }

    /** Reports to a listener what is in use, from now on. */
    public Observation add(AllocatorListener listener) {
        final Observer added = new Observer(listener);
        final Observation observation = () -> end(added);
        StackReserve.touch();
        synchronized (lock) {
            if (isEnded) {
                throw new IllegalStateException("the environment is closed");
            }
            observers.ensureCapacity(observers.size() + 1);
            compare();
            observers.add(added);
            isObserved = true;
            changed();
        }
        return observation;
    }

    private void end(Observer ended) {
        StackReserve.touch();
        synchronized (lock) {
            ended.isEnded = true;
            call(ended);
            forgetIfUnobserved();
        }
    }

    /** Compares what is in use with what is known, after something may have changed. Never throws. */
    public void changed() {
        if (!isObserved) {
            return;
        }
        try {
            StackReserve.touch();
            synchronized (lock) {
                if (isObserved) {
                    compare();
                    callAll();
                }
            }
        } catch (Throwable e) {
            missed(e);
        }
    }

    private static void missed(Throwable failure) {
        try {
            Log.failed("observing", "allocators", failure);
        } catch (Throwable e) {
            // The next change is compared with what is known now.
        }
    }

    /** Ends all observations, at the close of the environment. */
    public void end() {
        StackReserve.touch();
        synchronized (lock) {
            isEnded = true;
            for (int i = 0; i < observers.size(); i++) {
                observers.get(i).isEnded = true;
            }
            callAll();
        }
    }

    /** Learns what is in use. If this method throws, no instance comes or goes. */
    private void compare() {
        final Map<Object, List<AllocatorUse>> now = new LinkedHashMap<>();
        uses.get()
                .forEach(use -> now.computeIfAbsent(use.instance(), _ -> new ArrayList<>())
                        .add(use));
        final Map<Object, Observed> after = new LinkedHashMap<>();
        now.forEach((instance, of) -> after.put(instance, observed(known.get(instance), of)));
        final List<Observed> gone = new ArrayList<>(known.size());
        known.forEach((instance, observed) -> {
            if (!after.containsKey(instance)) {
                gone.add(observed);
            }
        });
        StackReserve.touch();
        known = after;
        for (int i = 0; i < gone.size(); i++) {
            gone.get(i).release();
        }
    }

    private Observed observed(@Nullable Observed before, List<AllocatorUse> of) {
        if (before == null) {
            return new Observed(++lastNumber, of);
        }
        before.uses = List.copyOf(of);
        return before;
    }

    private void callAll() {
        for (final Observer observer : List.copyOf(observers)) {
            call(observer);
        }
        forgetIfUnobserved();
    }

    /** Calls a listener for what it has not learned. Where this method throws, another call of it does the rest. */
    private void call(Observer observer) {
        observer.toRemove().forEach(observer::remove);
        observer.toAdd(known.values()).forEach(observer::add);
        if (observer.isEnded) {
            observers.remove(observer);
        }
    }

    private void forgetIfUnobserved() {
        if (observers.isEmpty()) {
            for (final Observed each : known.values()) {
                each.release();
            }
            known.clear();
            isObserved = false;
        }
    }

    private static final class Observed implements ObservedAllocator {
        private final long number;
        private final String provider;
        private final MemoryInfo memory;
        private volatile List<AllocatorUse> uses;

        /** Guarded by the lock of the observers. */
        private boolean isReleased;

        Observed(long number, List<AllocatorUse> uses) {
            this.number = number;
            provider = uses.getFirst().provider();
            memory = uses.getFirst().info();
            this.uses = List.copyOf(uses);
        }

        void release() {
            isReleased = true;
            uses = List.of();
        }

        @Override
        public long number() {
            return number;
        }

        @Override
        public String provider() {
            return provider;
        }

        @Override
        public MemoryInfo memory() {
            return memory;
        }

        @Override
        public List<User> users() {
            return uses.stream()
                    .filter(use -> !use.isReleased().getAsBoolean())
                    .map(use -> new User(use.user().owner(), use.liveBlocks().getAsLong()))
                    .toList();
        }

        @Override
        public AllocatorStats stats() {
            for (final AllocatorUse use : uses) {
                try {
                    if (!use.isReleased().getAsBoolean()) {
                        return use.stats().get();
                    }
                } catch (RuntimeException e) {
                    // It was released, or the provider fails: another user may still have it.
                }
            }
            return AllocatorStats.NONE;
        }
    }
}
