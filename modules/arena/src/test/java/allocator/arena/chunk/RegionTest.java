package allocator.arena.chunk;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.arena.TableHeap;
import java.util.Random;
import java.util.TreeMap;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** The address index: which chunk starts where. */
class RegionTest {
    private static final long BASE = 0x1000;

    private final ChunkStore store = new ChunkStore();
    private final Chunks chunks = store.chunks;
    private final WindowTables tables = store.tables;

    private int enter(Region region, long offset, int previous) {
        chunks.ensureSpare(1);
        tables.ensureSpare();
        region.ensureEntry(offset);
        final int chunk = previous == Chunks.NONE
                ? chunks.create(region.id, offset)
                : chunks.takeFront(previous, offset, 0, 0, 0, 1);
        region.enter(store, chunk, offset);
        return chunk;
    }

    private static Region region(long granules) {
        final Region region = new Region(0, granules, true);
        region.setBase(BASE);
        return region;
    }

    private void remove(Region region, int chunk) {
        region.remove(store, chunk, chunks.offset(chunk));
        chunks.join(chunks.previous(chunk), chunk);
    }

    /** Chunks come and go at random; the index is compared with a map at every granule. */
    @Property(tries = 50)
    void theIndexDoesWhatAMapDoes(@ForAll long seed) {
        final Random random = new Random(seed);
        final long granules = 1L + random.nextInt(40_000);
        final Region region = region(granules);
        final TreeMap<Long, Integer> starts = new TreeMap<>();
        starts.put(0L, enter(region, 0, Chunks.NONE));
        for (int i = 0; i < 500; i++) {
            final long offset = random.nextLong(random.nextBoolean() ? granules : Math.min(granules, 100));
            final Integer there = starts.get(offset);
            if (there == null) {
                starts.put(
                        offset, enter(region, offset, starts.lowerEntry(offset).getValue()));
            } else if (offset > 0) {
                remove(region, there);
                starts.remove(offset);
            }
        }
        for (int i = 0; i < 2000; i++) {
            final long offset = random.nextLong(granules);
            assertThat(region.startingAt(store, offset)).isEqualTo(starts.getOrDefault(offset, Chunks.NONE));
        }
        assertThat(region.startingAt(store, 0)).isEqualTo(starts.get(0L));
        assertThat(region.filledWindows())
                .isEqualTo(starts.keySet().stream()
                        .map(offset -> offset / Region.WINDOW_GRANULES)
                        .distinct()
                        .count());
    }

    /** Many chunks in a block, then fewer, then none, over and over: the tables are used again. */
    @Test
    void tablesAreUsedAgain() {
        final Region region = region(1600);
        final int first = enter(region, 0, Chunks.NONE);
        for (int round = 0; round < 20; round++) {
            int last = first;
            for (int offset = 1; offset < 1600; offset++) {
                last = enter(region, offset, last);
            }
            for (int chunk = last; chunk != first; ) {
                final int previous = chunks.previous(chunk);
                remove(region, chunk);
                chunk = previous;
            }
        }

        assertThat(region.filledWindows()).isEqualTo(1);
        assertThat(TableHeap.of(tables)).isLessThan(15_000);
    }

    @Test
    void aRegionContainsItsBytesOnly() {
        final Region region = region(2);

        assertThat(region.contains(BASE)).isTrue();
        assertThat(region.contains(BASE + 511)).isTrue();
        assertThat(region.contains(BASE + 512)).isFalse();
        assertThat(region.contains(BASE - 1)).isFalse();
        assertThat(region.contains(-1)).isFalse();
    }

    @Test
    void theFarEndOfALargeRegionIsFound() {
        final long granules = 1L << 30;
        final Region region = region(granules);
        final int first = enter(region, 0, Chunks.NONE);
        final int last = enter(region, granules - 1, first);

        assertThat(region.startingAt(store, granules - 1)).isEqualTo(last);
        assertThat(TableHeap.of(region)).isLessThan(700_000);
    }
}
