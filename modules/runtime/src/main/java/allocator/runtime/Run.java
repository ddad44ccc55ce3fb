package allocator.runtime;

import allocator.provider.support.StackReserve;
import allocator.runtime.lifetime.Cleanup;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.SyncStream;
import allocator.spi.UnsupportedMemoryException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A run of a session: its allocators, and streams that no other run uses until this one ends. Memory may outlive the
 * run; its streams must not be used after it.
 */
public final class Run {
    private static final @Nullable SyncStream[] NO_STREAMS = new SyncStream[0];

    /**
     * The work of a run.
     *
     * @param <X> the type of exception that it may throw
     */
    @FunctionalInterface
    public interface Work<X extends Exception> {
        /**
         * Runs the work.
         *
         * @param run the run, valid until this method returns
         * @throws X if the work fails; the run is ended nevertheless
         */
        void execute(Run run) throws X;
    }

    private final Session session;

    /** A stream of this run, in its place from before it is taken. */
    private static final class Slot {
        private final SessionStreams owner;
        private final @Nullable Slot previous;
        private SessionStreams.@Nullable Place place;
        private boolean isTaking;

        Slot(SessionStreams owner, @Nullable Slot previous) {
            this.owner = owner;
            this.previous = previous;
        }
    }

    private final Object lock = new Object();
    private final Map<SessionStreams, TreeMap<Integer, Slot>> used = new LinkedHashMap<>();

    /** All slots, linked, so that the end of the run needs no iterator. */
    private @Nullable Slot last;

    private boolean isOver;

    /** The streams of the default device by index, to return one again without a lock. */
    private volatile @Nullable SyncStream[] defaultStreams = NO_STREAMS;

    Run(Session session) {
        this.session = session;
    }

    /**
     * Returns the session.
     *
     * @return the session
     */
    public Session session() {
        return session;
    }

    /**
     * Returns the session's default allocator.
     *
     * @return as {@link Session#allocator()}
     */
    public ManagedAllocator allocator() {
        return session.allocator();
    }

    /**
     * Returns the session's allocator of a memory.
     *
     * @param location where the memory is
     * @return as {@link Session#allocator(MemoryLocation)}
     */
    public Optional<ManagedAllocator> allocator(MemoryLocation location) {
        return session.allocator(location);
    }

    /**
     * Returns the session's copies.
     *
     * @return as {@link Session#transfers}
     */
    public Transfers transfers() {
        return session.transfers();
    }

    /**
     * Returns whether the session's default device has streams.
     *
     * @return whether {@link #stream(int)} works
     */
    public boolean hasStreams() {
        return session.streams().filter(SessionStreams::hasStreams).isPresent();
    }

    /**
     * Returns a stream of the session's default device. One index returns the same stream throughout the run;
     * concurrent runs never share a stream.
     *
     * @param index the index, from 0; at its first use a stream is created, or taken from the session's idle streams
     * @return the stream
     * @throws IndexOutOfBoundsException if {@code index} is negative
     * @throws UnsupportedMemoryException if the device has no streams
     * @throws IllegalStateException if the run is over
     */
    public SyncStream stream(int index) {
        final @Nullable SyncStream[] known = defaultStreams;
        if (index >= 0 && index < known.length) {
            final SyncStream stream = known[index];
            if (stream != null) {
                return stream;
            }
        }
        return stream(session.requireStreams(), index);
    }

    /**
     * Returns a stream of a device.
     *
     * @param memory the device's default memory
     * @param index the index, from 0
     * @return the stream
     * @throws IndexOutOfBoundsException if {@code index} is negative
     * @throws UnsupportedMemoryException if the session has no such device or it has no streams
     * @throws IllegalStateException if the run is over
     */
    public SyncStream stream(MemoryInfo memory, int index) {
        return stream(session.requireStreams(memory), index);
    }

    private SyncStream stream(SessionStreams owner, int index) {
        if (index < 0) {
            throw new IndexOutOfBoundsException("stream " + index);
        }
        StackReserve.touch();
        synchronized (lock) {
            if (isOver) {
                throw new IllegalStateException("the run of " + session + " is over");
            }
            final TreeMap<Integer, Slot> slots = used.computeIfAbsent(owner, ignored -> new TreeMap<>());
            Slot slot = slots.get(index);
            if (slot == null) {
                slot = new Slot(owner, last);
                slots.put(index, slot);
                last = slot;
            }
            SessionStreams.Place place = slot.place;
            if (place == null) {
                final @Nullable SyncStream[] remembered = roomForDefault(owner, index);
                place = take(slot, index);
                slot.place = place;
                if (remembered != null) {
                    remembered[index] = place.stream();
                    defaultStreams = remembered;
                }
            }
            return place.stream();
        }
    }

    /** Takes a stream for a slot. A provider that is creating it may not ask for it. */
    private static SessionStreams.Place take(Slot slot, int index) {
        if (slot.isTaking) {
            throw new IllegalStateException(
                    "stream " + index + " is being created; a provider may not ask for it then");
        }
        slot.isTaking = true;
        try {
            return slot.owner.take();
        } finally {
            slot.isTaking = false;
        }
    }

    /** Returns a copy of the default device's streams with room for another; {@code null} if it is not remembered. */
    private @Nullable SyncStream @Nullable [] roomForDefault(SessionStreams owner, int index) {
        final int remembered = 64;
        return index < remembered && session.streams().filter(owner::equals).isPresent()
                ? Arrays.copyOf(defaultStreams, Math.max(defaultStreams.length, index + 1))
                : null;
    }

    /**
     * Ends the run's use of its streams: synchronizes them if requested, and gives them back. A stream that fails to
     * synchronize is closed, so that no later run gets it. Never throws.
     *
     * @param cleanup receives the failures
     * @return the number of streams
     */
    int end(boolean synchronize, Cleanup cleanup) {
        synchronized (lock) {
            isOver = true;
            defaultStreams = NO_STREAMS;
        }
        int count = 0;
        try {
            for (final TreeMap<Integer, Slot> slots : used.values()) {
                // Backwards, so that the next run finds the first stream on top.
                for (final Slot slot : slots.descendingMap().values()) {
                    count += endStream(slot, synchronize, cleanup);
                }
            }
        } catch (Throwable e) {
            // Only an iterator fails, for lack of heap.
            cleanup.add(e);
        }
        for (Slot slot = last; slot != null; slot = slot.previous) {
            count += endStream(slot, synchronize, cleanup);
        }
        return count;
    }

    /** Ends the use of a stream, if there is one. Returns how many there were. */
    private static int endStream(Slot slot, boolean synchronize, Cleanup cleanup) {
        final SessionStreams.Place place = slot.place;
        if (place == null) {
            return 0;
        }
        slot.place = null;
        boolean isUsable = !synchronize;
        try {
            if (synchronize) {
                slot.owner.end(place);
                isUsable = true;
            }
        } catch (Throwable e) {
            cleanup.add(e);
        }
        try {
            if (isUsable) {
                slot.owner.giveBack(place);
            } else {
                slot.owner.discard(place);
            }
        } catch (Throwable e) {
            cleanup.add(e);
        }
        return 1;
    }
}
