package allocator.runtime.inspection;

import allocator.runtime.discovery.Log;
import allocator.runtime.metrics.AllocatorListener;
import allocator.runtime.metrics.Observation;
import allocator.runtime.metrics.ObservedAllocator;
import allocator.runtime.snapshot.Snapshot.User;
import allocator.spi.AllocatorStats;
import allocator.spi.MemoryInfo;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * The listeners of an environment, and the instances that they know. Without a listener a change costs the read of a
 * field; with one, time proportional to the number of sessions.
 */
public final class Observers {
    private final Supplier<Stream<AllocatorUse>> uses;
    private final Object lock = new Object();
    private volatile boolean isObserved;
    private boolean isEnded;

    /** By the entry of the instance. Like what follows, guarded by the lock. */
    private Map<Object, Observed> known = new LinkedHashMap<>();

    private final List<AllocatorListener> listeners = new ArrayList<>();
    private long lastNumber;

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
        synchronized (lock) {
            if (isEnded) {
                throw new IllegalStateException("the environment is closed");
            }
            update();
            listeners.add(listener);
            isObserved = true;
            List.copyOf(known.values()).forEach(each -> added(listener, each));
        }
        return () -> remove(listener);
    }

    private void remove(AllocatorListener listener) {
        synchronized (lock) {
            if (listeners.remove(listener)) {
                known.values().forEach(each -> call(listener::removed, each));
                isObserved = !listeners.isEmpty();
                if (!isObserved) {
                    forget();
                }
            }
        }
    }

    private void forget() {
        known.values().forEach(Observed::release);
        known = new LinkedHashMap<>();
    }

    /** Compares what is in use with what is known, after something may have changed. Never throws. */
    public void changed() {
        if (!isObserved) {
            return;
        }
        try {
            synchronized (lock) {
                if (isObserved) {
                    update();
                }
            }
        } catch (Throwable e) {
            Log.failed("observing", "allocators", e); // the next change is compared with what was known before
        }
    }

    /** Ends all observations, at the close of the environment. */
    public void end() {
        synchronized (lock) {
            isEnded = true;
            List.copyOf(listeners).forEach(this::remove);
        }
    }

    private void update() {
        final Map<Object, List<AllocatorUse>> now = new LinkedHashMap<>();
        uses.get()
                .forEach(use -> now.computeIfAbsent(use.instance(), _ -> new ArrayList<>())
                        .add(use));
        final Map<Object, Observed> before = new HashMap<>(known);
        final Map<Object, Observed> after = new LinkedHashMap<>();
        final List<Observed> added = new ArrayList<>();
        now.forEach((instance, of) -> {
            Observed observed = before.remove(instance);
            if (observed == null) {
                observed = new Observed(++lastNumber, of);
                added.add(observed);
            } else {
                observed.uses = List.copyOf(of);
            }
            after.put(instance, observed);
        });
        known = after;
        for (final Observed gone : before.values()) {
            gone.release();
            List.copyOf(listeners).forEach(listener -> call(listener::removed, gone));
        }
        for (final Observed each : added) {
            List.copyOf(listeners).forEach(listener -> added(listener, each));
        }
    }

    /** Reports an instance to a listener, unless it has ended its observation. */
    private void added(AllocatorListener listener, Observed observed) {
        if (listeners.contains(listener)) {
            call(listener::added, observed);
        }
    }

    private static void call(Consumer<ObservedAllocator> method, Observed observed) {
        try {
            method.accept(observed);
        } catch (Throwable e) {
            Log.failed("a listener", observed.memory(), e);
        }
    }

    private static final class Observed implements ObservedAllocator {
        private final long number;
        private final String provider;
        private final MemoryInfo memory;
        private volatile List<AllocatorUse> uses;

        Observed(long number, List<AllocatorUse> uses) {
            this.number = number;
            provider = uses.getFirst().provider();
            memory = uses.getFirst().info();
            this.uses = List.copyOf(uses);
        }

        void release() {
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
