package allocator.runtime;

import allocator.provider.support.internal.Failures;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.SyncStream;
import allocator.spi.UnsupportedMemoryException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
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
        private final int index;
        private SessionStreams.@Nullable Place place;
        private boolean isTaking;

        Slot(SessionStreams owner, int index) {
            this.owner = owner;
            this.index = index;
        }
    }

    private final Object lock = new Object();

    /** In the order of their first use. */
    private final List<Slot> slots = new ArrayList<>();

    private boolean isOver;

    /** The streams of the default device by index, to return one again without a lock. */
    private volatile @Nullable SyncStream[] defaultStreams = NO_STREAMS;

    Run(Session session) {
        this.session = session;
    }

    /** {@return the session} */
    public Session session() {
        return session;
    }

    /** {@return the session's default allocator, as {@link Session#allocator()}} */
    public ManagedAllocator allocator() {
        return session.allocator();
    }

    /**
     * {@return the session's allocator of a memory, as {@link Session#allocator(MemoryLocation)}}
     *
     * @param location where the memory is
     */
    public Optional<ManagedAllocator> allocator(MemoryLocation location) {
        return session.allocator(location);
    }

    /** {@return the session's copies, as {@link Session#transfers}} */
    public Transfers transfers() {
        return session.transfers();
    }

    /** {@return whether the session's default device has streams, so that {@link #stream(int)} works} */
    public boolean hasStreams() {
        return session.streams().filter(SessionStreams::hasStreams).isPresent();
    }

    /**
     * {@return a stream of the session's default device} One index returns the same stream throughout the run;
     * concurrent runs never share a stream.
     *
     * @param index the index, from 0; at its first use a stream is created, or taken from the session's idle streams
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
     * {@return a stream of a device}
     *
     * @param memory the device's default memory
     * @param index the index, from 0
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
        synchronized (lock) {
            if (isOver) {
                throw new IllegalStateException("the run of " + session + " is over");
            }
            final Slot slot = slot(owner, index);
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

    private Slot slot(SessionStreams owner, int index) {
        for (final Slot slot : slots) {
            if (slot.index == index && slot.owner.equals(owner)) {
                return slot;
            }
        }
        final Slot slot = new Slot(owner, index);
        slots.add(slot);
        return slot;
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
     * synchronize is closed, so that no later run gets it.
     *
     * @param failures receives the failures
     * @return the number of streams
     */
    int end(boolean synchronize, Failures failures) {
        synchronized (lock) {
            isOver = true;
            defaultStreams = NO_STREAMS;
        }
        int count = 0;
        for (int i = slots.size() - 1; i >= 0; i--) { // backwards: the next run finds the first stream on top
            count += endStream(slots.get(i), synchronize, failures);
        }
        return count;
    }

    /** Ends the use of a stream, if there is one. Returns how many there were. */
    private static int endStream(Slot slot, boolean synchronize, Failures failures) {
        final SessionStreams.Place place = slot.place;
        if (place == null) {
            return 0;
        }
        boolean isUsable = true;
        if (synchronize) {
            try {
                slot.owner.end(place);
            } catch (Throwable e) {
                failures.add(e);
                isUsable = false;
            }
        }
        try {
            if (isUsable) {
                slot.owner.giveBack(place);
            } else {
                slot.owner.discard(place);
            }
        } catch (Throwable e) {
            failures.add(e);
        }
        return 1;
    }
}
