package allocator.arena.plan;

import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.Region;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkReport.Held;
import java.util.ArrayList;
import java.util.List;

/** Shows planned memory as a region, in place of the reserve that it is to the wrapped allocator. */
final class PlannedReport {
    private final long base;
    private final long height;
    private final List<Chunk> chunks = new ArrayList<>();

    /** Copies what the memory holds: what is live, and between it what is free or waits for a stream. */
    PlannedReport(PlannedMemory memory) {
        base = memory.base();
        height = memory.table.height();
        long end = 0;
        for (final int block : memory.blocks.liveBlocks()) {
            final long offset = memory.table.offsets[block];
            addFree(memory, end, offset);
            end = memory.table.endOf(block);
            chunks.add(new Chunk(
                    base + offset,
                    end - offset,
                    memory.blocks.requested(block),
                    State.LIVE,
                    memory.blocks.streamId(block)));
        }
        addFree(memory, end, height);
    }

    /** Adds free memory, by band: what a stream has freed in a band may wait for it. */
    private void addFree(PlannedMemory memory, long from, long to) {
        final long[] starts = memory.table.bandStarts;
        long start = from;
        for (int band = memory.table.bandAt(from); start < to; band++) {
            final long end = band + 1 < starts.length ? Math.min(starts[band + 1], to) : to;
            final long streamId = memory.blocks.idOfFreeing(band);
            chunks.add(new Chunk(base + start, end - start, 0, streamId == 0 ? State.FREE : State.WAITING, streamId));
            start = end;
        }
    }

    /** Returns a snapshot of the wrapped allocator in which the memory is divided. */
    AllocatorSnapshot within(AllocatorSnapshot of) {
        final List<Region> regions = new ArrayList<>();
        final List<Chunk> blocks = new ArrayList<>();
        for (final Chunk block : of.blocks()) {
            if (isReserve(block)) {
                regions.add(new Region(0, base, block.byteSize(), divided(block)));
            } else {
                blocks.add(block);
            }
        }
        regions.addAll(of.regions());
        return new AllocatorSnapshot(regions, blocks);
    }

    /** Returns a snapshot of the memory alone. */
    AllocatorSnapshot alone() {
        return base == PlannedMemory.NO_ADDRESS
                ? AllocatorSnapshot.EMPTY
                : new AllocatorSnapshot(List.of(new Region(0, base, height, chunks)), List.of());
    }

    private boolean isReserve(Chunk chunk) {
        return base != PlannedMemory.NO_ADDRESS && chunk.address() == base && chunk.state() == State.LIVE;
    }

    private List<Chunk> divided(Chunk reserve) {
        final List<Chunk> parts = new ArrayList<>(chunks);
        if (reserve.byteSize() > height) {
            parts.add(new Chunk(base + height, reserve.byteSize() - height, 0, State.FREE, 0));
        }
        return parts;
    }

    /** Returns the report of a shrink of the wrapped allocator, before which planned memory was returned or not. */
    static ShrinkReport of(PlannedMemory memory, long released, ShrinkReport of) {
        final List<Held> parts = new ArrayList<>(of.held());
        if (memory.base() != PlannedMemory.NO_ADDRESS) {
            split(
                    parts,
                    memory.table.height(),
                    memory.blocks.live() > 0
                            ? "the memory of plans, in which blocks are live"
                            : "the memory of plans, which a stream may still use");
        }
        return new ShrinkReport(
                of.bytesReleased() + released,
                of.regionsReleased(),
                of.bytesHeld(),
                of.regionsInUse(),
                of.regionsKept(),
                parts);
    }

    /** Gives planned memory a part of its own, apart from the other reserves or blocks. */
    private static void split(List<Held> parts, long height, String reason) {
        for (int i = 0; i < parts.size(); i++) {
            final Held all = parts.get(i);
            if (all.regions() == 0 && all.bytes() >= height) {
                parts.set(i, new Held(height, 0, reason));
                if (all.bytes() > height) {
                    parts.add(i + 1, new Held(all.bytes() - height, 0, all.reason()));
                }
                return;
            }
        }
    }
}
