package allocator.arena.bump;

import allocator.provider.support.StackReserve;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/** The lanes of streams, in chains by a hash of the stream's id. Not safe for use by several threads. */
final class StreamLanes {
    private static final int LEAST_CHAINS = 8;

    /** The golden ratio's fraction: spreads stream ids. */
    private static final long SPREAD = 0x9E37_79B9_7F4A_7C15L;

    /** The length is a power of two. */
    private @Nullable BumpLane[] chains = new BumpLane[LEAST_CHAINS];

    private int count;

    private static int chain(long streamId, int length) {
        return (int) ((streamId * SPREAD) >>> (Long.numberOfLeadingZeros(length) + 1));
    }

    /** Returns the lane of a stream, {@code null} if it has none. */
    @Nullable
    BumpLane find(SyncStream stream) {
        BumpLane lane = chains[chain(stream.id(), chains.length)];
        while (lane != null && !lane.isOf(stream)) {
            lane = lane.next;
        }
        return lane;
    }

    /** Adds a lane for a stream that has none. If the Java heap or the stack ends, nothing changes. */
    BumpLane add(SyncStream stream) {
        final BumpLane lane = new BumpLane(stream);
        if (count == chains.length) {
            StackReserve.touch();
            resize(2 * count);
        }
        link(lane, chains);
        count++;
        return lane;
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

    /** Returns the number of chains. */
    int length() {
        return chains.length;
    }
}
