package allocator.view;

import allocator.runtime.snapshot.BlockName;
import allocator.runtime.snapshot.Snapshot.AllocatorState;
import allocator.runtime.snapshot.Snapshot.Site;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.Region;
import allocator.spi.AllocatorSnapshot.State;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The chunks of an allocator for the map of a page: five numbers for each chunk in an array for each region, which are
 * its size, the bytes requested, its state, its stream, and its site as an index from 1.
 *
 * <p>If there are too many chunks, neighbours that are small are shown as one, in the state {@value #MIXED}, until
 * together they are not small: its bytes requested are the number of chunks, its stream the bytes of them that are
 * live. The size below which a chunk is small is doubled until the chunks are few enough.
 */
final class MapJson {
    /** All chunks of a region are small then: with more regions than that, each is shown as one. */
    private static final long LARGEST = 1L << 62;

    /** The number of the state of several small chunks shown as one. */
    private static final int MIXED = 6;

    private final ShownJson json;
    private final AllocatorState allocator;
    private final AllocatorSnapshot memory;
    private final int mostChunks;
    private final int mostSites;
    private final Map<Site, Integer> siteIndex = new LinkedHashMap<>();

    /**
     * A map.
     *
     * @param mostChunks the most chunks that it shows one by one
     * @param mostSites the most call sites that it names; others are left out
     */
    MapJson(ShownJson json, AllocatorState allocator, int mostChunks, int mostSites) {
        this.json = json;
        this.mostChunks = mostChunks;
        this.mostSites = mostSites;
        this.allocator = allocator;
        memory = allocator.memoryMap();
    }

    void write() throws IOException {
        final long small = small();
        json.writeArrayFieldStart("regions");
        for (final Region region : memory.regions()) {
            write(region.lane(), Long.toHexString(region.address()), region.chunks(), small);
        }
        if (!memory.blocks().isEmpty()) {
            write(-1, "", memory.blocks(), small);
        }
        json.writeEndArray();
        json.array("sites", siteIndex.keySet(), site -> {
            final BlockName name = BlockName.of(site.frame());
            json.row(
                    site.owner(),
                    site.ageMillis(),
                    name.line(),
                    name.node(),
                    name.operator(),
                    name.layer(),
                    name.kind());
        });
        json.writeNumberField("small", small);
        writeFreeBySize();
    }

    private long small() {
        long small = 0;
        while (small < LARGEST && count(small) > mostChunks) {
            small = small == 0 ? 512 : 2 * small;
        }
        return small;
    }

    private long count(long small) {
        return memory.regions().stream()
                        .mapToLong(region -> count(region.chunks(), small))
                        .sum()
                + count(memory.blocks(), small);
    }

    private static long count(List<Chunk> chunks, long small) {
        long count = 0;
        for (int i = 0; i < chunks.size(); i = groupEnd(chunks, i, small)) {
            count++;
        }
        return count;
    }

    /** Returns the end of the chunks that are shown as one: small ones, until together they are not small any more. */
    private static int groupEnd(List<Chunk> chunks, int first, long small) {
        int end = first + 1;
        long bytes = chunks.get(first).byteSize();
        while (bytes < small && end < chunks.size() && chunks.get(end).byteSize() < small) {
            bytes += chunks.get(end).byteSize();
            end++;
        }
        return end;
    }

    private void write(int lane, String address, List<Chunk> chunks, long small) throws IOException {
        json.writeStartObject();
        json.writeNumberField("lane", lane);
        json.writeStringField("address", address);
        json.writeArrayFieldStart("chunks");
        write(chunks, small);
        json.writeEndArray();
        json.writeEndObject();
    }

    private void write(List<Chunk> chunks, long small) throws IOException {
        for (int i = 0; i < chunks.size(); ) {
            final Chunk chunk = chunks.get(i);
            final int next = groupEnd(chunks, i, small);
            if (next > i + 1) {
                writeMixed(chunks.subList(i, next));
            } else {
                write(
                        chunk.byteSize(),
                        chunk.requestedBytes(),
                        code(chunk.state()),
                        chunk.streamId(),
                        index(allocator.sites().get(chunk.address())));
            }
            i = next;
        }
    }

    /** Returns the number of a call site on the page, 0 for none. */
    private int index(@Nullable Site site) {
        if (site == null || (siteIndex.size() == mostSites && !siteIndex.containsKey(site))) {
            return 0;
        }
        return siteIndex.computeIfAbsent(site, _ -> siteIndex.size() + 1);
    }

    /** Returns the number of a state on the page. */
    private static int code(State state) {
        return switch (state) {
            case LIVE -> 0;
            case WAITING -> 1;
            case CACHED -> 2;
            case FREE -> 3;
            case UNMAPPED -> 4;
            case UNRETURNED -> 5;
            case PINNED -> 7;
        };
    }

    private void writeMixed(List<Chunk> chunks) throws IOException {
        long bytes = 0;
        long live = 0;
        for (final Chunk chunk : chunks) {
            bytes += chunk.byteSize();
            live += chunk.state() == State.LIVE ? chunk.byteSize() : 0;
        }
        write(bytes, chunks.size(), MIXED, live, 0);
    }

    private void write(long bytes, long requested, int state, long stream, int site) throws IOException {
        json.writeNumber(bytes);
        json.writeNumber(requested);
        json.writeNumber(state);
        json.writeNumber(stream);
        json.writeNumber(site);
    }

    /** Returns the column of a state that may serve requests; -1 for another one. */
    private static int kind(State state) {
        return switch (state) {
            case FREE -> 0;
            case WAITING -> 1;
            case CACHED -> 2;
            case LIVE, UNMAPPED, UNRETURNED, PINNED -> -1;
        };
    }

    /** Writes the bytes that are free, waiting and cached, in chunks of sizes from one power of two to the next. */
    private void writeFreeBySize() throws IOException {
        final long[][] sums = new long[Long.SIZE][3];
        for (final Region region : memory.regions()) {
            for (final Chunk chunk : region.chunks()) {
                final int kind = kind(chunk.state());
                if (kind >= 0) {
                    sums[Long.SIZE - 1 - Long.numberOfLeadingZeros(chunk.byteSize())][kind] += chunk.byteSize();
                }
            }
        }
        json.writeArrayFieldStart("freeBySize");
        for (int power = 0; power < sums.length; power++) {
            if (sums[power][0] + sums[power][1] + sums[power][2] > 0) {
                json.row(power, sums[power][0], sums[power][1], sums[power][2]);
            }
        }
        json.writeEndArray();
    }
}
