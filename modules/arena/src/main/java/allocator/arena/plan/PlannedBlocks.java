package allocator.arena.plan;

import allocator.spi.MemoryLocation;
import allocator.spi.SyncStream;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The live blocks of planned memory, and whether a block's bytes may be used: no block is placed over one that is live,
 * or in bytes that a stream may still use.
 *
 * <p>A block is compared with its predecessors in the plan alone. Live blocks that this does not find are in a short
 * list of <em>strangers</em>, which each call is compared with: those of earlier runs, and those in whose bytes a block
 * of this run was not placed.
 *
 * <p>A band serves one stream at a time, or requesters without one. It passes to another requester when nothing in it
 * is live, and the stream has freed nothing since the end of its run (T-04), or has ended itself.
 *
 * <p>Takes no Java heap after its creation.
 */
final class PlannedBlocks {
    /** No block. */
    static final int NONE = -1;

    /** The most strangers beside which a run is followed. */
    private static final int MOST_STRANGERS = 256;

    private final PlanTable table;
    private final MemoryLocation location;

    /** The bytes that the caller of each live block requested, 0 for a block that is not live. */
    private final long[] requested;

    /** The live block at each place. */
    private final int[] blockAt;

    private final int[] strangers = new int[MOST_STRANGERS];
    private int strangerCount;

    /** Whether there is a stranger for which there was no room. */
    private boolean isCrowded;

    /** The stream that each band serves, whether it may still use what it freed there, and the live blocks. */
    private final @Nullable SyncStream[] owners;

    private final boolean[] isPending;
    private final int[] liveInBand;

    private long placed;
    private long freed;
    private long inUse;
    private long requestedInUse;

    PlannedBlocks(PlanTable table, MemoryLocation location) {
        this.table = table;
        this.location = location;
        requested = new long[table.offsets.length];
        blockAt = new int[table.places()];
        Arrays.fill(blockAt, NONE);
        owners = new SyncStream[table.bandStarts.length];
        isPending = new boolean[table.bandStarts.length];
        liveInBand = new int[table.bandStarts.length];
    }

    /** Begins a run: what is live is a stranger to it. Returns false, without effect, if too many blocks are. */
    boolean begin() {
        if (live() > MOST_STRANGERS) {
            return false;
        }
        strangerCount = 0;
        isCrowded = false;
        for (int block = 0; strangerCount < live(); block++) {
            if (requested[block] > 0) {
                strangers[strangerCount++] = block;
            }
        }
        return true;
    }

    /**
     * Returns whether a block may be placed for a requester; otherwise the live blocks in its bytes are strangers from
     * here on.
     *
     * @param stream the requester, {@code null} for no stream
     */
    boolean isClear(int block, @Nullable SyncStream stream) {
        final int band = table.bandOf[block];
        final SyncStream owner = owners[band];
        boolean isClear = id(owner) == id(stream) || passes(band, owner, stream);
        for (int i = 0; i < strangerCount; i++) {
            isClear &= !table.overlap(strangers[i], block);
        }
        for (int i = table.predecessorsFrom[block]; i < table.predecessorsFrom[block + 1]; i++) {
            isClear &= requested[table.predecessors[i]] == 0;
        }
        if (!isClear) {
            leaveOut(block);
        }
        return isClear;
    }

    /** Passes a band to another requester if that may use it. */
    private boolean passes(int band, @Nullable SyncStream owner, @Nullable SyncStream stream) {
        if (liveInBand[band] > 0
                || (stream != null && !isOfDevice(stream.memory().location()))) {
            return false;
        }
        final boolean isFree = owner == null || !isPending[band] || owner.hasEnded();
        if (isFree) {
            owners[band] = stream;
            isPending[band] = false;
        }
        return isFree;
    }

    private boolean isOfDevice(MemoryLocation other) {
        return other.deviceType() == location.deviceType()
                && other.vendorId() == location.vendorId()
                && other.deviceOrdinal() == location.deviceOrdinal();
    }

    private void leaveOut(int block) {
        for (int i = table.predecessorsFrom[block]; i < table.predecessorsFrom[block + 1]; i++) {
            final int before = table.predecessors[i];
            if (requested[before] > 0 && strangerAt(before) < 0) {
                if (strangerCount == MOST_STRANGERS) {
                    isCrowded = true;
                    return;
                }
                strangers[strangerCount++] = before;
            }
        }
    }

    /** Returns whether there are too many strangers for the rest of the run. */
    boolean isCrowded() {
        return isCrowded;
    }

    private int strangerAt(int block) {
        int at = strangerCount - 1;
        while (at >= 0 && strangers[at] != block) {
            at--;
        }
        return at;
    }

    /** Places a block that is clear, and returns its offset. */
    long place(int block, long requestedBytes) {
        requested[block] = requestedBytes;
        blockAt[table.placeOf[block]] = block;
        liveInBand[table.bandOf[block]]++;
        placed++;
        inUse += table.byteSizes[block];
        requestedInUse += requestedBytes;
        return table.offsets[block];
    }

    /** Frees a live block. */
    void free(int block) {
        final int band = table.bandOf[block];
        isPending[band] = owners[band] != null;
        liveInBand[band]--;
        blockAt[table.placeOf[block]] = NONE;
        freed++;
        inUse -= table.byteSizes[block];
        requestedInUse -= requested[block];
        requested[block] = 0;
        final int stranger = strangerAt(block);
        if (stranger >= 0) {
            strangers[stranger] = strangers[--strangerCount];
        }
    }

    /** Returns the live block that begins at an offset, {@link #NONE} if there is none. */
    int at(long offset) {
        final int place = table.placeAt(offset);
        return place == PlanTable.NONE ? NONE : blockAt[place];
    }

    /** Returns the live blocks in the order of their offsets. */
    int[] liveBlocks() {
        return table.byOffset(IntStream.range(0, requested.length).filter(block -> requested[block] > 0));
    }

    /** Returns the bytes that the caller of a live block requested. */
    long requested(int block) {
        return requested[block];
    }

    /** Returns the id of the stream that a live block belongs to, {@code 0} for none. */
    long streamId(int block) {
        return id(owners[table.bandOf[block]]);
    }

    /** Returns the id of the stream that may still use what it freed in a band, {@code 0} if there is none. */
    long idOfFreeing(int band) {
        return isPending[band] ? id(owners[band]) : 0;
    }

    private static long id(@Nullable SyncStream stream) {
        return stream == null ? 0 : stream.id();
    }

    /** Makes what a stream has freed free for all; if it is released, also what it frees later. */
    void settle(SyncStream stream, boolean isReleased) {
        for (int band = 0; band < owners.length; band++) {
            final SyncStream owner = owners[band];
            if (owner != null && owner.id() == stream.id()) {
                isPending[band] = false;
                owners[band] = isReleased ? null : owner;
            }
        }
    }

    /** Makes everything free for all: the memory was returned after all work on it. */
    void settleAll() {
        Arrays.fill(isPending, false);
        Arrays.fill(owners, null);
    }

    /** Adds the streams that have live blocks, or may still use what they freed. */
    void addOwners(Map<Long, SyncStream> to) {
        for (int band = 0; band < owners.length; band++) {
            final SyncStream owner = owners[band];
            if (owner != null && (liveInBand[band] > 0 || isPending[band])) {
                to.put(owner.id(), owner);
            }
        }
    }

    /** Returns the number of live blocks. */
    long live() {
        return placed - freed;
    }

    /** Returns how many blocks were placed. */
    long placed() {
        return placed;
    }

    /** Returns how many blocks were freed. */
    long freed() {
        return freed;
    }

    /** Returns the bytes of live blocks. */
    long inUse() {
        return inUse;
    }

    /** Returns the bytes that the callers of live blocks requested. */
    long requestedInUse() {
        return requestedInUse;
    }
}
