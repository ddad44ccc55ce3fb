package allocator.runtime;

import allocator.provider.support.internal.Failures;
import allocator.runtime.transfer.LentStream;
import allocator.spi.MemoryInfo;
import allocator.spi.SyncStream;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The idle streams of a session on one device. They belong to the session, not to threads, so a run on another thread
 * gets the same streams and the memory bound to them.
 *
 * <p>A stream has its place in the lists from before it is created until it is closed, so that taking and giving back
 * allocate nothing.
 */
final class SessionStreams {
    /** The place of a stream: with a run, among the idle ones, or among those that its provider could not close. */
    static final class Place {
        private @Nullable SyncStream stream;

        /** What is left to do once the work of the stream is done. */
        private @Nullable Runnable afterEnd;

        /** The next place of the list that this one is in. */
        @Nullable
        Place next;

        SyncStream stream() {
            return Objects.requireNonNull(stream);
        }

        /** The stream is closed. */
        void ended() {
            if (afterEnd != null) {
                afterEnd.run();
                afterEnd = null;
            }
        }
    }

    private final RegisteredProvider provider;
    private final MemoryInfo memory;

    /** The idle streams, linked; the one on top was given back last. Guarded by this object, as is what follows. */
    private @Nullable Place idle;

    /** The streams that the user has opened and that may not have ended, linked. */
    private @Nullable Place opened;

    private boolean isClosed;

    SessionStreams(RegisteredProvider provider, MemoryInfo memory) {
        this.provider = provider;
        this.memory = memory;
    }

    boolean hasStreams() {
        return provider.hasStreams(memory);
    }

    /** Returns the stream that was given back last, or a new one. Once the provider has made one, nothing fails. */
    Place take() {
        Place place = poll();
        if (place == null) {
            place = new Place();
            place.stream = provider.createStream(memory);
        }
        return place;
    }

    private synchronized @Nullable Place poll() {
        final Place top = idle;
        if (top != null) {
            idle = top.next;
            top.next = null;
        }
        return top;
    }

    /** Opens a stream for the user, to be closed by him, or with the session. */
    SyncStream open() {
        return open(() -> provider.createStream(memory));
    }

    /** Opens a view of a stream that other code has created, to be closed by the user, or with the session. */
    SyncStream view(long handle) {
        return open(() -> provider.viewStream(memory, handle));
    }

    private SyncStream open(Supplier<SyncStream> maker) {
        final Place place = new Place();
        final SyncStream stream = maker.get();
        place.stream = stream;
        synchronized (this) {
            place.next = withoutEnded(opened);
            opened = place;
        }
        return stream;
    }

    private static @Nullable Place withoutEnded(@Nullable Place list) {
        Place kept = null;
        for (Place place = list; place != null; ) {
            final Place following = place.next;
            if (!place.stream().hasEnded()) {
                place.next = kept;
                kept = place;
            }
            place = following;
        }
        return kept;
    }

    private synchronized @Nullable Place pollOpened() {
        final Place top = opened;
        if (top != null) {
            opened = top.next;
            top.next = null;
        }
        return top;
    }

    /**
     * Lends a stream to a copy. Closes again what failed to close: the work of an earlier copy may not be done.
     *
     * @throws RuntimeException if a close fails again: the copy would not be ordered after that work
     */
    LentStream lend() {
        final Failures failures = new Failures();
        provider.closeStreams(failures);
        failures.throwIfAny();
        return new LentStream() {
            private @Nullable Place place;

            private Place place() {
                return Objects.requireNonNull(place);
            }

            @Override
            public SyncStream take() {
                place = SessionStreams.this.take();
                return place().stream();
            }

            @Override
            public void giveBack() {
                SessionStreams.this.giveBack(place());
            }

            @Override
            public void discard(Runnable afterEnd) {
                place().afterEnd = afterEnd;
                SessionStreams.this.discard(place());
            }
        };
    }

    /** Synchronizes a stream at the end of a run. */
    void end(Place place) {
        final SyncStream stream = place.stream();
        ProviderCalls.run(provider.name(), "onSessionRunEnd of " + stream, stream::onSessionRunEnd);
    }

    /** Takes a stream back; closes it if the session is closed. */
    void giveBack(Place place) {
        final boolean isDiscarded;
        synchronized (this) {
            isDiscarded = isClosed;
            if (!isClosed) {
                place.next = idle;
                idle = place;
            }
        }
        if (isDiscarded) {
            discard(place);
        }
    }

    /** Closes a stream that must not be used again. */
    void discard(Place place) {
        provider.closeStream(place);
    }

    /**
     * Closes the idle streams and those of the user now, and every other one when it is given back. A further call
     * closes again what failed to close.
     */
    void close(Failures failures) {
        provider.closeStreams(failures);
        synchronized (this) {
            isClosed = true;
        }
        for (Place place = poll(); place != null; place = poll()) {
            discard(place, failures);
        }
        for (Place place = pollOpened(); place != null; place = pollOpened()) {
            discard(place, failures);
        }
    }

    private void discard(Place place, Failures failures) {
        try {
            discard(place);
        } catch (Throwable e) {
            failures.add(e);
        }
    }
}
