package allocator.arena.bump;

import allocator.provider.support.StackReserve;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The lanes of streams, in chains by a hash of the stream's id; a table that shrinks again.
 *
 * <p>A stream may take an empty region of another stream that it has waited for. It finds one by a look into the lane
 * of each stream that it has waited for, or into all lanes if they are few or fewer than those. So the lane of a stream
 * that ended without a release may be missed where lanes are many, until {@link #takeEnded}.
 *
 * <p>Not safe for use by several threads.
 */
final class StreamLanes {
    /** Up to so many lanes, a search visits all of them. */
    static final int FEW = 8;

    private static final int LEAST_CHAINS = 8;

    /** The golden ratio's fraction: spreads stream ids. */
    private static final long SPREAD = 0x9E37_79B9_7F4A_7C15L;

    /** The length is a power of two. */
    private @Nullable BumpLane[] chains = new BumpLane[LEAST_CHAINS];

    private int count;
    private final long byteAlignment;

    /** Made here, as its class may not be found where the stack or the Java heap ends. */
    private final Search search = new Search();

    /** Lanes that searches have looked into so far. */
    private long visits;

    StreamLanes(long byteAlignment) {
        this.byteAlignment = byteAlignment;
    }

    private static int chain(long streamId, int length) {
        return (int) ((streamId * SPREAD) >>> (Long.numberOfLeadingZeros(length) + 1));
    }

    /** Returns the lane of a stream, {@code null} if it has none. */
    @Nullable
    BumpLane find(SyncStream stream) {
        return find(stream.id());
    }

    private @Nullable BumpLane find(long streamId) {
        BumpLane lane = chains[chain(streamId, chains.length)];
        while (lane != null && lane.streamId() != streamId) {
            lane = lane.next;
        }
        return lane;
    }

    /** Returns whether the next {@link #add} doubles the table. */
    boolean isFull() {
        return count == chains.length;
    }

    /** Adds a lane for a stream that has none. If the Java heap or the stack ends, nothing changes. */
    BumpLane add(SyncStream stream) {
        final BumpLane lane = new BumpLane(stream, byteAlignment);
        if (isFull()) {
            grow();
        }
        link(lane, chains);
        count++;
        return lane;
    }

    /** Doubles the table if more than half as many lanes as chains are left. */
    void grow() {
        if (count > chains.length / 2) {
            StackReserve.touch();
            resize(2 * chains.length);
        }
    }

    /**
     * Removes the lane of a stream, and makes the table smaller if few are left and the Java heap has room for it. By a
     * thread that has touched its stack.
     */
    void remove(BumpLane lane) {
        final int chain = chain(lane.streamId(), chains.length);
        BumpLane before = chains[chain];
        if (before == lane) {
            chains[chain] = lane.next;
        } else {
            while (before != null && before.next != lane) {
                before = before.next;
            }
            if (before == null) {
                return;
            }
            before.next = lane.next;
        }
        count--;
        if (chains.length > LEAST_CHAINS && count < chains.length / 8) {
            shrink();
        }
    }

    private void shrink() {
        try {
            resize(chains.length / 4);
        } catch (OutOfMemoryError e) {
            // The table stays as large as it is.
        }
    }

    private void resize(int length) {
        final @Nullable BumpLane[] others = new BumpLane[Math.max(length, LEAST_CHAINS)];
        for (BumpLane first : chains) {
            while (first != null) {
                final BumpLane lane = first;
                first = lane.next;
                link(lane, others);
            }
        }
        chains = others;
    }

    private static void link(BumpLane lane, @Nullable BumpLane[] chains) {
        final int chain = chain(lane.streamId(), chains.length);
        lane.next = chains[chain];
        chains[chain] = lane;
    }

    /** Returns the streams of all lanes. */
    List<SyncStream> streams() {
        final List<SyncStream> streams = new ArrayList<>(count);
        for (BumpLane first : chains) {
            for (BumpLane lane = first; lane != null; lane = lane.next) {
                if (lane.stream != null) {
                    streams.add(lane.stream);
                }
            }
        }
        return streams;
    }

    /**
     * Removes the lanes of streams that have ended, and visits all for it.
     *
     * @param kept a lane that stays
     * @return the first of them, followed by its {@link BumpLane#next}; {@code null} if there is none
     */
    @Nullable
    BumpLane takeEnded(BumpLane kept) {
        BumpLane ended = null;
        for (int chain = 0; chain < chains.length; chain++) {
            BumpLane left = null;
            BumpLane lane = chains[chain];
            while (lane != null) {
                final BumpLane next = lane.next;
                if (lane != kept && lane.hasEnded()) {
                    lane.next = ended;
                    ended = lane;
                    count--;
                } else {
                    lane.next = left;
                    left = lane;
                }
                lane = next;
            }
            chains[chain] = left;
        }
        return ended;
    }

    /**
     * Returns the smallest empty region that fits a request of a stream and is of another stream, which the former has
     * waited for since the last free in it; {@code null} if there is none.
     */
    @Nullable
    BlockRegion smallestFor(long byteSize, SyncStream requester) {
        search.begin(byteSize, requester);
        if (count > FEW && requester.waitedStreams() < count) {
            requester.forEachWaitedStream(search);
        } else {
            for (BumpLane first : chains) {
                for (BumpLane lane = first; lane != null; lane = lane.next) {
                    search.visit(lane);
                }
            }
        }
        return search.end();
    }

    /** A search among the lanes of streams that one has waited for. */
    private final class Search implements LongConsumer {
        private long byteSize;
        private @Nullable SyncStream requester;
        private @Nullable BlockRegion best;

        private void begin(long wantedSize, SyncStream stream) {
            byteSize = wantedSize;
            requester = stream;
            best = null;
        }

        private @Nullable BlockRegion end() {
            final BlockRegion found = best;
            requester = null;
            best = null;
            return found;
        }

        @Override
        public void accept(long streamId) {
            final BumpLane lane = find(streamId);
            if (lane != null) {
                visit(lane);
            }
        }

        private void visit(BumpLane lane) {
            visits++;
            final SyncStream producer = lane.stream;
            final SyncStream stream = requester;
            if (producer != null && stream != null && producer.id() != stream.id()) {
                final BlockRegion region = lane.smallestEmpty(byteSize, stream.lastWaitedSyncId(producer));
                best = BlockRegion.smaller(best, region);
            }
        }
    }

    /** Returns how many lanes searches have looked into so far. */
    long visits() {
        return visits;
    }

    /** Returns the number of chains. */
    int length() {
        return chains.length;
    }
}
