package allocator.cuda.memory.check;

import allocator.spi.SyncStream;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What is known of the order of streams: which work each stream has waited for, and which work the host has.
 *
 * <p>A stream's uses of memory have positions that count from 1. A stream follows another up to a position, by
 * notifications and events, transitively. Streams of several providers that are one stream of the driver, of which they
 * have views, have one clock: the driver orders their work. Guarded by the lock of {@link StreamChecks}.
 */
final class StreamOrder {
    private final Map<Long, Clock> clocks = new HashMap<>();
    private final Map<Native, Clock> nativeClocks = new HashMap<>();

    /** A stream of the driver, as long as it is not destroyed. */
    private record Native(int device, long handle) {
        static Native of(SyncStream stream) {
            return new Native(stream.memory().deviceOrdinal(), stream.handle());
        }
    }

    /** A stream of the driver that has used memory. */
    static final class Clock {
        private final String name;

        /** Those that are this one; not kept alive. */
        private final List<WeakReference<SyncStream>> streams = new ArrayList<>(1);

        private final Map<Clock, Long> followed = new HashMap<>();

        /** Position of the latest use. */
        private long now;

        /** Position up to which the host has waited. */
        private long done;

        private Clock(String name) {
            this.name = name;
        }

        private boolean hasEnded() {
            for (int i = 0; i < streams.size(); i++) {
                final SyncStream known = streams.get(i).get();
                if (known == null || !known.hasEnded()) {
                    return false;
                }
            }
            return true;
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
        final Clock known = clocks.get(stream.id());
        return known != null ? known : enter(stream);
    }

    private Clock enter(SyncStream stream) {
        final Native key = Native.of(stream);
        Clock clock = nativeClocks.get(key);
        if (clock == null || clock.hasEnded()) {
            clock = new Clock(stream.toString());
        }
        clock.streams.removeIf(reference -> reference.get() == null);
        clock.streams.add(new WeakReference<>(stream));
        nativeClocks.put(key, clock);
        clocks.put(stream.id(), clock);
        return clock;
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

    /** A stream has ended: no more of it comes. The driver's stream goes on where another view of it is open. */
    void end(SyncStream stream) {
        final Clock clock = clocks.remove(stream.id());
        if (clock != null && clock.hasEnded()) {
            nativeClocks.remove(Native.of(stream), clock);
        }
    }

    static boolean isDone(Clock clock, long position) {
        return position <= clock.done || clock.hasEnded();
    }

    /** Returns whether a use is ordered before the next work of a stream; {@code null} is the host, which waits. */
    static boolean isBefore(Clock clock, long position, @Nullable Clock later) {
        return isDone(clock, position)
                || (later != null && (later == clock || later.followed.getOrDefault(clock, 0L) >= position));
    }
}
