package allocator.arena;

import allocator.arena.chunk.Placement;
import allocator.arena.chunk.Region;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.State;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Copies the chunks of a lane under its lock, as numbers, and makes values of the copy afterwards: the lock is held for
 * some ten nanoseconds a chunk.
 *
 * <pre>
 *   word 0  address
 *   word 1  size in bytes
 *   word 2  bytes requested
 *   word 3  id of the stream
 * </pre>
 */
final class LaneInspection implements Placement.ChunkVisitor {
    private static final int WORDS = 4;
    private static final int SPARE_CHUNKS = 256;

    private final Lane lane;
    private final List<Region> regions = new ArrayList<>();

    /** The index of the first chunk behind each region. */
    private final List<Integer> ends = new ArrayList<>();

    private long[] words = new long[0];
    private @Nullable State[] states = new State[0];
    private int count;

    private LaneInspection(Lane lane) {
        this.lane = lane;
    }

    static AllocatorSnapshot of(List<Lane> lanes) {
        final List<AllocatorSnapshot.Region> regions = new ArrayList<>();
        final List<Chunk> blocks = new ArrayList<>();
        for (final Lane lane : lanes) {
            final LaneInspection inspection = new LaneInspection(lane);
            inspection.copy();
            inspection.addTo(regions, blocks);
        }
        blocks.sort(Comparator.comparing(Chunk::address, Long::compareUnsigned));
        return new AllocatorSnapshot(regions, blocks);
    }

    private void copy() {
        final int room = lane.placement.chunkCount() + SPARE_CHUNKS; // a guess, made without the lock
        words = new long[room * WORDS];
        states = new State[room];
        lane.locked(() -> {
            for (final Region region : lane.regions.toList()) {
                lane.placement.visit(region, this);
                regions.add(region);
                ends.add(count);
            }
            lane.blocks
                    .list(false)
                    .forEach(span -> add(span.address(), span.byteSize(), span.byteSize(), State.LIVE, 0));
            lane.blocks.list(true).forEach(span -> add(span.address(), span.byteSize(), 0, State.UNRETURNED, 0));
            return true;
        });
    }

    @Override
    public void visit(long address, long byteSize, long requestedBytes, State state, long streamId) {
        if (state == State.LIVE || state == State.CACHED) {
            add(address, byteSize, requestedBytes, state, streamId);
            return;
        }
        final long end = address + byteSize;
        for (long from = address; from != end; ) {
            final long to = lane.supply.sameBacking(from, end);
            if (!lane.supply.isBacked(from)) {
                add(from, to - from, 0, State.UNMAPPED, 0);
            } else if (state == State.WAITING) {
                add(from, to - from, 0, state, streamId);
            } else {
                addFree(from, to - from);
            }
            from = to;
        }
    }

    /** Adds memory of a free chunk, for which a stream may have to be waited for all the same. */
    private void addFree(long address, long byteSize) {
        final long pending = lane.supply.pending(address);
        final boolean isPending = pending != Supply.NO_STREAM;
        add(address, byteSize, 0, isPending ? State.WAITING : State.FREE, isPending ? pending : 0);
    }

    private void add(long address, long byteSize, long requestedBytes, State state, long streamId) {
        final int at = count * WORDS;
        if (count == states.length) {
            words = Arrays.copyOf(words, Math.multiplyExact(2, at));
            states = Arrays.copyOf(states, 2 * count);
        }
        words[at] = address;
        words[at + 1] = byteSize;
        words[at + 2] = requestedBytes;
        words[at + 3] = streamId;
        states[count] = state;
        count++;
    }

    private void addTo(List<AllocatorSnapshot.Region> all, List<Chunk> blocks) {
        int from = 0;
        for (int i = 0; i < regions.size(); i++) {
            final Region region = regions.get(i);
            final List<Chunk> chunks = chunks(from, ends.get(i));
            all.add(new AllocatorSnapshot.Region(lane.number, region.base(), region.byteSize(), chunks));
            from = ends.get(i);
        }
        blocks.addAll(chunks(from, count));
    }

    private List<Chunk> chunks(int from, int to) {
        final Chunk[] chunks = new Chunk[to - from];
        for (int i = 0; i < chunks.length; i++) {
            final int at = (from + i) * WORDS;
            final State state = Objects.requireNonNull(states[from + i]);
            chunks[i] = new Chunk(words[at], words[at + 1], words[at + 2], state, words[at + 3]);
        }
        return List.of(chunks);
    }
}
