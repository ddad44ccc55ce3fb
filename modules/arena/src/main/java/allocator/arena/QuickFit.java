package allocator.arena;

import allocator.arena.StreamSlots.Slot;
import allocator.spi.SyncStream;

/**
 * Keeps what is freed for the next request of its size, in front of a {@link Placement}: quick fit, after Weinstock and
 * Wulf.
 *
 * <p>A request is rounded up to a class of {@link SizeClasses}. It takes what its stream, or nobody in particular,
 * freed last in that class; otherwise the best fit; and only if there is none, kept chunks are merged, the largest
 * first, until one fits. So an arena grows only when nothing is kept any more. The largest are merged also when more
 * than a share of the arena is kept: memory that is kept cannot become larger chunks, and one that keeps much needs
 * more of it. Each chunk is merged at most once for each time that it was kept.
 *
 * <p>To the placement a kept chunk is in use. It is passed on as its stream's free memory would be: its stamp is that
 * of the free, and the end of a run hands it to everybody.
 */
final class QuickFit {
    private static final int NONE = Chunks.NONE;

    /** Of the regions, unless the settings say how much to keep: more of it makes an arena grow. */
    private static final int DEFAULT_SHARE = 8;

    /**
     * The most chunks of a class that are merged in one go: many, as neighbours become larger chunks only together, but
     * not as many as a free would be felt to take.
     */
    private static final int MERGED_AT_ONCE = 256;

    private final Placement placement;
    private final Chunks chunks;
    private final KeptChunks kept;

    /** The most to keep; 0 for the default share. */
    private final long maxKeptUnits;

    private long keptUnits;

    QuickFit(Placement placement, long maxKeptUnits) {
        this.placement = placement;
        this.maxKeptUnits = maxKeptUnits;
        chunks = placement.chunks;
        kept = new KeptChunks(chunks);
    }

    /** As {@link Placement#take}. */
    long take(long units, long requested, Slot asker) {
        kept.ensureOwner(asker.number); // for large requests as well, so that no free needs to do it
        final int sizeClass = SizeClasses.atLeast(units);
        if (sizeClass < SizeClasses.COUNT) {
            int chunk = kept.pop(KeptChunks.stack(asker.number, sizeClass));
            if (chunk == NONE && asker.number != StreamSlots.UNTIED) {
                chunk = kept.pop(KeptChunks.stack(StreamSlots.UNTIED, sizeClass));
            }
            if (chunk != NONE) {
                final long address = placement.reuse(chunk, requested, asker);
                keptUnits -= placement.takenUnits();
                return address;
            }
        }
        final long address = placement.take(SizeClasses.units(sizeClass), requested, asker);
        return address == Placement.NO_ADDRESS ? takeExactly(units, requested, asker) : address;
    }

    private long takeExactly(long units, long requested, Slot asker) {
        long address = placement.take(units, requested, asker);
        while (address == Placement.NO_ADDRESS && mergeLargest()) {
            address = placement.take(units, requested, asker);
        }
        return address;
    }

    /** Frees a chunk in use, and keeps it. */
    void free(Region region, int chunk, long units) {
        final Slot owner = placement.slots.get(chunks.owner(chunk));
        final SyncStream stream = owner.stream;
        region.frees++;
        if (stream == null) {
            keep(chunk, units, owner, placement.slots.untied(), 0);
        } else {
            keep(chunk, units, owner, owner, stream.syncId());
        }
        keptUnits += units;
        final long most = maxKeptUnits == 0 ? placement.regions.units() / DEFAULT_SHARE : maxKeptUnits;
        boolean isKept = true;
        while (keptUnits > most && isKept) {
            isKept = mergeLargest();
        }
    }

    private void keep(int chunk, long units, Slot from, Slot owner, long stamp) {
        if (from != owner) {
            from.chunksInUse--;
            owner.chunksInUse++;
        }
        kept.push(KeptChunks.stack(owner.number, SizeClasses.atMost(units)), chunk, stamp);
    }

    /** Hands to everybody what a stream freed. */
    void untie(SyncStream stream) {
        final Slot slot = placement.slots.find(stream);
        if (slot == null) {
            return;
        }
        final Slot untied = placement.slots.untied();
        for (int stack = kept.largest(slot.number); stack != NONE; stack = kept.largest(slot.number)) {
            final int chunk = kept.pop(stack);
            keep(chunk, placement.units(chunk), slot, untied, 0);
        }
    }

    /** Merges chunks of the largest class that has any; answers false if nothing is kept. */
    private boolean mergeLargest() {
        final int stack = kept.largest();
        if (stack == NONE) {
            return false;
        }
        for (int merged = 0; merged < MERGED_AT_ONCE && kept.isFilled(stack); merged++) {
            placement.prepare(); // an OutOfMemoryError after the pop would lose the chunk
            final int chunk = kept.pop(stack);
            final Region region = placement.regions.get(chunks.region(chunk));
            final long units = placement.units(region, chunk);
            keptUnits -= units;
            placement.free(region, chunk, units, chunks.keptStamp(chunk));
        }
        return true;
    }

    /** Merges everything that is kept, as if it had been freed without. */
    void mergeAll() {
        boolean isKept = true;
        while (isKept) {
            isKept = mergeLargest();
        }
    }

    /** Chunks that are kept. */
    int count() {
        return kept.count();
    }

    /** The sizes of all chunks that are kept, in units. */
    long units() {
        return keptUnits;
    }

    /** Bytes of Java heap that the stacks take. */
    long bookkeepingBytes() {
        return kept.bookkeepingBytes();
    }
}
