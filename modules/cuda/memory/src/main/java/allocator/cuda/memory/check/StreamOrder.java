package allocator.cuda.memory.check;

import allocator.spi.SyncStream;
import java.lang.ref.WeakReference;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What is known of the order of streams: which work each stream has waited for, and which work the host has.
 *
 * <p>A stream's uses of memory have positions that count from 1. A stream follows another up to a position, by
 * notifications and events, transitively. Guarded by the lock of {@link StreamChecks}.
 */
final class StreamOrder {
    private final Map<Long, Clock> clocks = new HashMap<>();

    /** A stream that has used memory; does not keep the stream alive. */
    static final class Clock {
        private final long id;
        private final String name;
        private final WeakReference<SyncStream> stream;
        private final Map<Clock, Long> followed = new HashMap<>();

        /** Position of the latest use. */
        private long now;

        /** Position up to which the host has waited. */
        private long done;

        private Clock(SyncStream stream) {
            id = stream.id();
            name = stream.toString();
            this.stream = new WeakReference<>(stream);
        }

        private boolean hasEnded() {
            final SyncStream known = stream.get();
            return known != null && known.hasEnded();
        }

        @Override
        public String toString() {
            return name;
        }
    }

    /**
     * A point in the work of a stream.
     *
     * @param clock the stream
     * @param position its latest use then
     * @param followed what the stream had followed then
     */
    record Point(Clock clock, long position, Map<Clock, Long> followed) {}

    Clock clock(SyncStream stream) {
        return clocks.computeIfAbsent(stream.id(), id -> new Clock(stream));
    }

    /** Adds a use to a stream, and returns its position. */
    static long use(Clock clock) {
        return ++clock.now;
    }

    Point point(SyncStream stream) {
        final Clock clock = clock(stream);
        clock.followed.keySet().removeIf(Clock::hasEnded);
        return new Point(clock, clock.now, Map.copyOf(clock.followed));
    }

    /** A stream waits for a point. */
    void follow(SyncStream consumer, Point point) {
        final Clock clock = clock(consumer);
        point.followed.forEach((other, position) -> clock.followed.merge(other, position, Math::max));
        clock.followed.merge(point.clock, point.position, Math::max);
    }

    /** The host has waited for a point. */
    static void hostFollows(Point point) {
        point.followed.forEach((other, position) -> other.done = Math.max(other.done, position));
        point.clock.done = Math.max(point.clock.done, point.position);
    }

    /** All work of a stream is done, and no more comes. */
    void end(SyncStream stream) {
        if (clocks.containsKey(stream.id())) {
            hostFollows(point(stream));
            clocks.remove(stream.id());
        }
    }

    static boolean isDone(Clock clock, long position) {
        return position <= clock.done || clock.hasEnded();
    }

    /** Returns whether a use is ordered before the next work of a stream; {@code null} is the host, which waits. */
    static boolean isBefore(Clock clock, long position, @Nullable Clock later) {
        return isDone(clock, position)
                || (later != null && (later.id == clock.id || later.followed.getOrDefault(clock, 0L) >= position));
    }
}
