package allocator.arena;

import allocator.arena.StreamSlots.Slot;
import allocator.spi.SyncStream;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Keeps what is freed for the next request of its size, in front of a {@link Placement}: quick fit, after Weinstock and
 * Wulf.
 *
 * <p>A request is rounded up to a class of {@link SizeClasses}. It takes what its stream, or nobody in particular, freed
 * last in that class; otherwise the best fit; and only if there is none, kept chunks are merged, the largest first, until
 * one fits. So an arena grows only when nothing is kept any more. The largest are merged also when more than a share of
 * the arena is kept: memory that is kept cannot become larger chunks, and one that keeps much needs more of it. Each chunk
 * is merged at most once for each time that it was kept.
 *
 * <p>To the placement a kept chunk is in use. It is passed on as its stream's free memory would be: its stamp is that of
 * the free, and the end of a run hands it to everybody.
 */
final class QuickFit {
    private static final int NONE = Chunks.NONE;

    private final Placement placement;
    private final Chunks chunks;

    /** Of the regions, unless the settings say how much to keep: more of it makes an arena grow. */
    private static final int DEFAULT_SHARE = 8;

    /** The most to keep; 0 for the default share. */
    private final long maxKeptUnits;

    /** By number of the owner's slot. */
    private KeptChunks[] kept = new KeptChunks[0];

    private long keptUnits;

    QuickFit(Placement placement, long maxKeptUnits) {
        this.placement = placement;
        this.maxKeptUnits = maxKeptUnits;
        chunks = placement.chunks;
    }

    private KeptChunks of(Slot slot) {
        if (slot.number >= kept.length) {
            addOwners(slot.number + 1);
        }
        return kept[slot.number];
    }

    private void addOwners(int count) {
        final int before = kept.length;
        final KeptChunks[] more = Arrays.copyOf(kept, count);
        for (int number = before; number < count; number++) {
            more[number] = new KeptChunks(chunks);
        }
        kept = more;
    }

    /** As {@link Placement#take}. */
    long take(long units, long requested, Slot asker) {
        final KeptChunks mine = of(asker); // here, for large requests as well, so that no free needs to make it
        final int sizeClass = SizeClasses.atLeast(units);
        if (sizeClass < SizeClasses.COUNT) {
            int chunk = mine.pop(sizeClass);
            if (chunk == NONE) {
                chunk = of(placement.slots.untied()).pop(sizeClass);
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
        from.chunksInUse--;
        owner.chunksInUse++;
        of(owner).push(SizeClasses.atMost(units), chunk, owner.number, stamp);
    }

    /** Hands to everybody what a stream freed. */
    void untie(SyncStream stream) {
        final Slot slot = placement.slots.find(stream);
        if (slot == null) {
            return;
        }
        final Slot untied = placement.slots.untied();
        final KeptChunks mine = of(slot);
        for (int sizeClass = mine.largestClass(); sizeClass != 0; sizeClass = mine.largestClass()) {
            final int chunk = mine.pop(sizeClass);
            keep(chunk, placement.units(chunk), slot, untied, 0);
        }
    }

    /** Merges the chunks of the largest class that has any; answers false if nothing is kept. */
    private boolean mergeLargest() {
        @Nullable KeptChunks owner = null;
        int largest = 0;
        for (final KeptChunks candidate : kept) {
            if (candidate.largestClass() > largest) {
                owner = candidate;
                largest = candidate.largestClass();
            }
        }
        if (owner == null) {
            return false;
        }
        while (owner.largestClass() == largest) {
            placement.prepare(); // an OutOfMemoryError after the pop would lose the chunk
            final int chunk = owner.pop(largest);
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
        int count = 0;
        for (final KeptChunks owner : kept) {
            count += owner.count();
        }
        return count;
    }

    /** The sizes of all chunks that are kept, in units. */
    long units() {
        return keptUnits;
    }

    /** Bytes of Java heap that the stacks take. */
    long bookkeepingBytes() {
        long bytes = HeapSize.ofReferences(kept.length);
        for (final KeptChunks owner : kept) {
            bytes += owner.bookkeepingBytes();
        }
        return bytes;
    }
}
