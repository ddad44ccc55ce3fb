package allocator.arena;

import allocator.arena.chunk.BestFit;
import allocator.arena.chunk.Granules;
import allocator.arena.chunk.Region;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.State;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Describes a lane for people who investigate why a request failed. */
final class ArenaDump {
    /** The size classes of ONNX Runtime: each twice the one before, the last takes everything larger. */
    private static final int BINS = 21;

    /** The most lines of one list. */
    private static final int MAX_LINES = 64;

    private final StringBuilder text = new StringBuilder();
    private final Map<Integer, Tally> inUseByBin = new TreeMap<>();
    private final Map<Integer, Tally> freeByBin = new TreeMap<>();
    private final Map<Long, Tally> inUseBySize = new TreeMap<>();

    private ArenaDump() {}

    /**
     * {@return the lines of the dump, each with a line end} Under the lane's lock.
     *
     * @param lane the lane
     * @param request the request that failed
     */
    static String of(Lane lane, String request) {
        final ArenaDump dump = new ArenaDump();
        dump.line(lane.info + " arena: " + request);
        dump.line(lane.report().stats().toMap().toString());
        dump.line(lane.config.toString() + ", next region " + lane.supply.nextRegionBytes());
        dump.regions(lane);
        dump.bins();
        dump.line("in use by chunk size, most bytes first");
        dump.lines(dump.inUseBySize.entrySet().stream()
                .sorted((a, b) -> Long.compare(b.getValue().bytes, a.getValue().bytes))
                .map(entry -> "  " + entry.getKey() + ": " + entry.getValue())
                .toList());
        return dump.text.toString();
    }

    private void line(String line) {
        text.append(line).append('\n');
    }

    private void lines(List<String> lines) {
        lines.stream().limit(MAX_LINES).forEach(this::line);
        if (lines.size() > MAX_LINES) {
            line("  ... and " + (lines.size() - MAX_LINES) + " more");
        }
    }

    private void regions(Lane lane) {
        line("regions: " + lane.regions.count());
        final List<String> lines = new ArrayList<>();
        for (final Region region : lane.regions.toList()) {
            final Tally inUse = new Tally();
            final Tally free = new Tally();
            count(lane.placement, region, inUse, free);
            lines.add("  region " + region.id() + (lane.number == 0 ? "" : " of lane " + lane.number)
                    + at(region.base(), region.byteSize()) + ": in use " + inUse + ", free " + free + ", largest "
                    + free.largest);
        }
        lane.blocks.list().stream()
                .sorted(Comparator.comparing(Chunk::state).thenComparing(Chunk::address, Long::compareUnsigned))
                .forEach(block -> lines.add((block.state() == State.LIVE ? "  reserve" : "  unreturned")
                        + at(block.address(), block.byteSize())));
        lines(lines);
    }

    private static String at(long address, long byteSize) {
        return " at 0x" + Long.toHexString(address) + " of " + byteSize;
    }

    private void count(BestFit placement, Region region, Tally inUse, Tally free) {
        placement.list(region, (address, byteSize, requested, state, streamId) -> {
            final int bin = Math.min(BINS - 1, Long.SIZE - 1 - Long.numberOfLeadingZeros(Granules.floor(byteSize)));
            final boolean isLive = state == State.LIVE;
            (isLive ? inUse : free).add(byteSize, requested);
            (isLive ? inUseByBin : freeByBin)
                    .computeIfAbsent(bin, any -> new Tally())
                    .add(byteSize, requested);
            if (isLive) {
                inUseBySize.computeIfAbsent(byteSize, any -> new Tally()).add(byteSize, requested);
            }
        });
    }

    private void bins() {
        line("bins");
        for (int bin = 0; bin < BINS; bin++) {
            if (inUseByBin.containsKey(bin) || freeByBin.containsKey(bin)) {
                line("  from " + (Granules.BYTES << bin) + ": in use " + inUseByBin.getOrDefault(bin, new Tally())
                        + ", free " + freeByBin.getOrDefault(bin, new Tally()));
            }
        }
    }

    /** Counts chunks of one kind. */
    private static final class Tally {
        private long count;
        private long bytes;
        private long requested;
        private long largest;

        void add(long byteSize, long requestedBytes) {
            count++;
            bytes += byteSize;
            requested += requestedBytes;
            largest = Math.max(largest, byteSize);
        }

        @Override
        public String toString() {
            return count + " x " + bytes + " bytes" + (requested == 0 ? "" : " (" + requested + " requested)");
        }
    }
}
