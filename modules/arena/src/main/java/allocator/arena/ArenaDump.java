package allocator.arena;

import allocator.arena.chunk.Granules;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Formats a snapshot for people who investigate why a request failed. */
final class ArenaDump {
    /** The size classes of ONNX Runtime: each twice the one before, the last takes everything larger. */
    private static final int BINS = 21;

    /** The most lines of one list. */
    private static final int MAX_LINES = 64;

    private final StringBuilder text = new StringBuilder();

    private ArenaDump() {}

    /**
     * Returns the dump.
     *
     * @param snapshot the arena
     * @param request the request that failed
     * @return lines, each with a line end
     */
    static String of(ArenaSnapshot snapshot, String request) {
        final ArenaDump dump = new ArenaDump();
        dump.line(snapshot.memory() + " arena: " + request);
        dump.line(snapshot.stats().toMap().toString());
        dump.line(snapshot.config().toString() + ", next region " + snapshot.nextRegionBytes());
        dump.regions(snapshot);
        dump.bins(snapshot);
        dump.liveBySize(snapshot);
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

    private void regions(ArenaSnapshot snapshot) {
        line("regions: " + snapshot.regions().size());
        final List<String> lines = new ArrayList<>();
        for (final ArenaSnapshot.Region region : snapshot.regions()) {
            final Tally inUse = new Tally();
            final Tally free = new Tally();
            region.chunks().forEach(chunk -> (chunk.isFree() ? free : inUse).add(chunk));
            lines.add("  region " + name(region) + " at 0x" + Long.toHexString(region.address()) + " of "
                    + region.byteSize() + ": in use " + inUse + ", free " + free + ", largest " + free.largest);
        }
        snapshot.reserves().forEach(span -> lines.add("  reserve" + describe(span)));
        snapshot.unreturned().forEach(span -> lines.add("  unreturned" + describe(span)));
        lines(lines);
    }

    private static String name(ArenaSnapshot.Region region) {
        return region.lane() == 0 ? Integer.toString(region.id()) : region.id() + " of lane " + region.lane();
    }

    private static String describe(ArenaSnapshot.Span span) {
        return " at 0x" + Long.toHexString(span.address()) + " of " + span.byteSize();
    }

    private void bins(ArenaSnapshot snapshot) {
        final Map<Integer, Tally> inUse = new TreeMap<>();
        final Map<Integer, Tally> free = new TreeMap<>();
        chunks(snapshot)
                .forEach(chunk -> (chunk.isFree() ? free : inUse)
                        .computeIfAbsent(bin(chunk.byteSize()), bin -> new Tally())
                        .add(chunk));
        line("bins");
        for (int bin = 0; bin < BINS; bin++) {
            if (inUse.containsKey(bin) || free.containsKey(bin)) {
                line("  from " + (Granules.BYTES << bin) + ": in use " + inUse.getOrDefault(bin, new Tally())
                        + ", free " + free.getOrDefault(bin, new Tally()));
            }
        }
    }

    private static List<ArenaSnapshot.Chunk> chunks(ArenaSnapshot snapshot) {
        return snapshot.regions().stream()
                .flatMap(region -> region.chunks().stream())
                .toList();
    }

    private static int bin(long byteSize) {
        return Math.min(BINS - 1, Long.SIZE - 1 - Long.numberOfLeadingZeros(Granules.floor(byteSize)));
    }

    private void liveBySize(ArenaSnapshot snapshot) {
        final Map<Long, Tally> bySize = new TreeMap<>();
        chunks(snapshot).stream()
                .filter(chunk -> !chunk.isFree())
                .forEach(chunk -> bySize.computeIfAbsent(chunk.byteSize(), size -> new Tally())
                        .add(chunk));
        line("in use by chunk size, most bytes first");
        lines(bySize.entrySet().stream()
                .sorted((a, b) -> Long.compare(b.getValue().bytes, a.getValue().bytes))
                .map(entry -> "  " + entry.getKey() + ": " + entry.getValue())
                .toList());
    }

    /** Counts chunks of one kind. */
    private static final class Tally {
        private long count;
        private long bytes;
        private long requested;
        private long largest;

        void add(ArenaSnapshot.Chunk chunk) {
            count++;
            bytes += chunk.byteSize();
            requested += chunk.requestedBytes();
            largest = Math.max(largest, chunk.byteSize());
        }

        @Override
        public String toString() {
            return count + " x " + bytes + " bytes" + (requested == 0 ? "" : " (" + requested + " requested)");
        }
    }
}
