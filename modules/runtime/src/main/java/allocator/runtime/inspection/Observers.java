package allocator.runtime.inspection;

import allocator.runtime.discovery.Log;
import allocator.runtime.metrics.AllocatorListener;
import allocator.runtime.metrics.Observation;
import allocator.runtime.metrics.ObservedAllocator;
import allocator.runtime.snapshot.Snapshot.User;
import allocator.spi.AllocatorStats;
import allocator.spi.MemoryInfo;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
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

    /** Replaced as a whole: a listener may end its observation while it is called. */
    private List<Listening> listeners = List.of();

    private long lastNumber;

    /**
     * Creates an instance without listeners.
     *
     * @param uses lists all uses at a moment, without the lock of the environment
     */
    public Observers(Supplier<Stream<AllocatorUse>> uses) {
        this.uses = uses;
    }

    /** One observation of a listener, which may have several. */
    private final class Listening implements Observation {
        private final AllocatorListener listener;

        Listening(AllocatorListener listener) {
            this.listener = listener;
        }

        @Override
        public void close() {
            synchronized (lock) {
                final List<Listening> others = new ArrayList<>(listeners);
                if (others.remove(this)) {
                    known.values().forEach(each -> call(this, each, false));
                    listeners = others;
                }
                if (listeners.isEmpty()) {
                    isObserved = false;
                    known.clear();
                }
            }
        }
    }

    /** Reports to a listener what is in use, from now on. */
    public Observation add(AllocatorListener listener) {
        final Listening added = new Listening(Objects.requireNonNull(listener, "listener"));
        synchronized (lock) {
            if (isEnded) {
                throw new IllegalStateException("what is to be observed is closed");
            }
            compare();
            final List<Observed> inUse = List.copyOf(known.values());
            final List<Listening> more = new ArrayList<>(listeners);
            more.add(added);
            listeners = more;
            isObserved = true;
            for (int i = 0; i < inUse.size(); i++) {
                call(added, inUse.get(i), true);
            }
        }
        return added;
    }

    /** Compares what is in use with what is known, after something may have changed. A failure is logged. */
    public void changed() {
        if (!isObserved) {
            return;
        }
        try {
            synchronized (lock) {
                compare();
            }
        } catch (Throwable e) {
            Log.failed("observing", "allocators", e); // the next change is compared with what is known now
        }
    }

    /** Ends all observations, at the close of the environment. */
    public void end() {
        synchronized (lock) {
            isEnded = true;
            listeners.forEach(Listening::close);
        }
    }

    /** Learns what is in use, and reports what has come and gone. Where the Java heap ends, another call does it. */
    private void compare() {
        final Map<Object, List<AllocatorUse>> now = new LinkedHashMap<>();
        uses.get()
                .forEach(use -> now.computeIfAbsent(use.instance(), _ -> new ArrayList<>())
                        .add(use));
        final Map<Object, Observed> after = new LinkedHashMap<>();
        final List<Observed> come = new ArrayList<>();
        now.forEach((instance, of) -> {
            final Observed before = known.get(instance);
            final Observed observed = before == null ? new Observed(of) : before;
            after.put(instance, observed);
            if (before == null) {
                come.add(observed);
            } else {
                before.uses = of;
            }
        });
        final List<Observed> gone = new ArrayList<>();
        known.forEach((instance, observed) -> {
            if (!after.containsKey(instance)) {
                gone.add(observed);
            }
        });
        known = after;
        for (int i = 0; i < gone.size(); i++) {
            gone.get(i).uses = List.of();
            callAll(gone.get(i), false);
        }
        for (int i = 0; i < come.size(); i++) {
            callAll(come.get(i), true);
        }
    }

    private void callAll(Observed observed, boolean isAdded) {
        final List<Listening> all = listeners;
        for (int i = 0; i < all.size(); i++) {
            call(all.get(i), observed, isAdded);
        }
    }

    private void call(Listening listening, Observed observed, boolean isAdded) {
        try {
            if (!listeners.contains(listening)) {
                return; // it has ended its observation
            }
            if (isAdded) {
                listening.listener.added(observed);
            } else {
                listening.listener.removed(observed);
            }
        } catch (Throwable e) {
            Log.failed("a listener", observed.memory, e);
        }
    }

    private final class Observed implements ObservedAllocator {
        private final long number = ++lastNumber;
        private final String provider;
        private final MemoryInfo memory;
        private volatile List<AllocatorUse> uses;

        Observed(List<AllocatorUse> uses) {
            provider = uses.getFirst().provider();
            memory = uses.getFirst().info();
            this.uses = uses;
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
