package allocator.arena.plan;

import allocator.spi.SyncStream;
import java.util.Arrays;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The streams that use planned memory, numbered in slots. Slot {@value #NONE} is no stream.
 *
 * <p>The <em>term</em> of a slot increases when a run of its stream ends and when the stream is released: what was
 * freed on the slot in an earlier term is free for every requester.
 *
 * <p>Takes no Java heap after its creation.
 */
final class PlanStreams {
    static final int NONE = 0;

    /** There is no slot for another stream. */
    static final int FULL = -1;

    /** The most streams at one time; others are not served. */
    private static final int MOST = 64;

    private final @Nullable SyncStream[] streams = new SyncStream[MOST + 1];

    /** The id of each stream, 0 for none. */
    private final long[] ids = new long[MOST + 1];

    private final int[] terms = new int[MOST + 1];

    /** Live blocks that were allocated on each stream; those of no stream are not counted. */
    final int[] live = new int[MOST + 1];

    /** The term and stamp of the latest free; no term is negative unless nothing was freed. */
    private final int[] freedTerms = new int[MOST + 1];

    private final long[] freedStamps = new long[MOST + 1];

    /** The slots in use are below. */
    private int end = 1;

    /** The slot found last. */
    private int latest;

    PlanStreams() {
        Arrays.fill(freedTerms, -1);
    }

    /** Returns whether a stream has had a slot. */
    boolean areUsed() {
        return end > 1;
    }

    /** Returns the slot of a stream, a new one if need be; {@link #FULL} if there is none. */
    int slotOf(SyncStream stream) {
        return ids[latest] == stream.id() ? latest : findOrAdd(stream);
    }

    private int findOrAdd(SyncStream stream) {
        int slot = find(stream);
        if (slot == NONE) {
            slot = vacant();
            if (slot == FULL) {
                return FULL;
            }
            streams[slot] = stream;
            ids[slot] = stream.id();
        }
        latest = slot;
        return slot;
    }

    /** Returns the slot of a stream, {@link #NONE} if it has none. */
    int find(SyncStream stream) {
        for (int slot = 1; slot < end; slot++) {
            if (ids[slot] == stream.id()) {
                return slot;
            }
        }
        return NONE;
    }

    private int vacant() {
        for (int slot = 1; slot < end; slot++) {
            final SyncStream stream = streams[slot];
            if (stream != null && live[slot] == 0 && stream.hasEnded()) {
                release(slot);
            }
            if (streams[slot] == null) {
                return slot;
            }
        }
        return end <= MOST ? end++ : FULL;
    }

    /** Returns the stream's sync id, which is the stamp of what it frees now. */
    long stamp(int slot) {
        final SyncStream stream = streams[slot];
        return stream == null ? 0 : stream.syncId();
    }

    /** Returns the stream's id, {@code 0} for no stream. */
    long id(int slot) {
        return ids[slot];
    }

    int term(int slot) {
        return terms[slot];
    }

    void freed(int slot, long stamp) {
        freedTerms[slot] = terms[slot];
        freedStamps[slot] = stamp;
    }

    /** Ends a term: what the stream has freed is free for all. */
    void endTerm(int slot) {
        terms[slot]++;
    }

    /** Ends a term, and forgets the stream. None of its blocks is live. */
    void release(int slot) {
        terms[slot]++;
        streams[slot] = null;
        ids[slot] = 0;
    }

    boolean isSettled(int slot, int term) {
        return slot == NONE || terms[slot] != term;
    }

    /**
     * Returns whether a requester may use what was freed on a slot (T-03).
     *
     * @param requester the slot of {@code stream}
     * @param stream the requester, {@code null} for no stream
     */
    boolean mayUse(int requester, @Nullable SyncStream stream, int slot, int term, long stamp) {
        if (slot == requester || isSettled(slot, term)) {
            return true;
        }
        final SyncStream owner = streams[slot];
        return owner == null || (stream == null ? owner.hasEnded() : stream.lastWaitedSyncId(owner) > stamp);
    }

    /** Returns whether a requester may use whatever was freed. */
    boolean mayUseAll(int requester, @Nullable SyncStream stream) {
        for (int slot = 1; slot < end; slot++) {
            if (!mayUse(requester, stream, slot, freedTerms[slot], freedStamps[slot])) {
                return false;
            }
        }
        return true;
    }

    /** Returns whether whatever was freed is free for all. */
    boolean areSettled() {
        for (int slot = 1; slot < end; slot++) {
            if (!isSettled(slot, freedTerms[slot])) {
                return false;
            }
        }
        return true;
    }

    /** Adds the streams that have live blocks, or may still use what they freed. */
    void addOwners(Map<Long, SyncStream> owners) {
        for (int slot = 1; slot < end; slot++) {
            final SyncStream stream = streams[slot];
            if (stream != null && (live[slot] > 0 || !isSettled(slot, freedTerms[slot]))) {
                owners.put(stream.id(), stream);
            }
        }
    }

    /** Returns whether a stream that may still use what it freed is among some. */
    boolean hasOwnerAmong(Map<Long, SyncStream> others) {
        for (int slot = 1; slot < end; slot++) {
            if (!isSettled(slot, freedTerms[slot]) && others.containsKey(id(slot))) {
                return true;
            }
        }
        return false;
    }

    /** Settles everything: the memory was returned after all work on it. */
    void settleAll() {
        for (int slot = 1; slot < end; slot++) {
            terms[slot]++;
        }
    }
}
