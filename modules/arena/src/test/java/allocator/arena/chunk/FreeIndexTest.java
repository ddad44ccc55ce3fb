package allocator.arena.chunk;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

class FreeIndexTest {
    private final SortedTrees trees = new SortedTrees();
    private final FreeIndex index = new FreeIndex(trees);

    private void add(long key, int chunk) {
        index.ensureClasses(SizeOrder.granules(key));
        addToClass(key, chunk);
    }

    private void addToClass(long key, int chunk) {
        trees.ensureSpare(1);
        index.add(key, chunk);
    }

    @Test
    void anEmptyIndexHasNothing() {
        assertThat(index.isEmpty()).isTrue();
        assertThat(index.first()).isEqualTo(FreeIndex.NONE);
        assertThat(index.last()).isEqualTo(FreeIndex.NONE);
        assertThat(index.ceiling(0)).isEqualTo(FreeIndex.NONE);
        assertThat(index.ceiling(SizeOrder.first(Chunks.MAX_REGION_GRANULES))).isEqualTo(FreeIndex.NONE);
    }

    /** Sizes of every octave, first in one class, in an order that is compared with that of a map. */
    @Property(tries = 100)
    void theOrderIsExact(@ForAll long seed) {
        final Random random = new Random(seed);
        final TreeMap<Long, Integer> expected = new TreeMap<>();
        final int octaves = 1 + random.nextInt(36);
        final int inOneClass = random.nextInt(4000);
        for (int i = 0; i < 3000; i++) {
            if (i == inOneClass || index.hasClasses()) {
                index.ensureClasses(1L << octaves);
            }
            if (expected.size() > 20 && random.nextInt(100) < 45) {
                final Long key = expected.ceilingKey(randomKey(random, octaves));
                final long removed = key == null ? expected.firstKey() : key;
                final long other = random.nextBoolean() ? removed + 1 + random.nextInt(64) : randomKey(random, octaves);
                expected.remove(removed);
                if (random.nextBoolean() && !expected.containsKey(other)) {
                    trees.ensureSpare(1);
                    index.replace(removed, other, i);
                    expected.put(other, i);
                } else {
                    index.remove(removed);
                }
            } else {
                final long key = randomKey(random, octaves);
                if (expected.put(key, i) != null) {
                    index.remove(key);
                }
                addToClass(key, i);
            }
            final long from = randomKey(random, octaves);
            final var entry = expected.ceilingEntry(from);
            assertThat(index.ceiling(from)).isEqualTo(entry == null ? FreeIndex.NONE : entry.getValue());
            if (entry != null) {
                assertThat(index.foundKey()).isEqualTo(entry.getKey());
            }
            assertThat(index.first()).isEqualTo(expected.firstEntry().getValue());
            assertThat(index.last()).isEqualTo(expected.lastEntry().getValue());
            assertThat(index.size()).isEqualTo(expected.size());
        }
        assertThat(index.isConsistent()).isTrue();
        for (final long key : List.copyOf(expected.keySet())) {
            index.remove(key);
        }
        assertThat(index.isEmpty()).isTrue();
        assertThat(index.isConsistent()).isTrue();
    }

    private static long randomKey(Random random, int octaves) {
        final int octave = random.nextInt(octaves);
        final long granules = (1L << octave) | (random.nextLong() & ((1L << octave) - 1));
        return SizeOrder.key(granules, random.nextLong() & 0xFFFF_FFFF_FF00L);
    }

    @Test
    void aResetIndexHasOneClass() {
        addToClass(SizeOrder.key(3, 0x100), 1);
        add(SizeOrder.key(300, 0x1000), 2);
        assertThat(index.hasClasses()).isTrue();
        trees.clearNodes();
        index.reset();

        assertThat(index.hasClasses()).isFalse();
        assertThat(index.first()).isEqualTo(FreeIndex.NONE);
        addToClass(SizeOrder.key(300, 0x1000), 2);
        assertThat(index.ceiling(SizeOrder.first(4))).isEqualTo(2);
        assertThat(index.isConsistent()).isTrue();
    }

    @Test
    void theLargestRegionFits() {
        final long key = SizeOrder.key(Chunks.MAX_REGION_GRANULES, -256);
        add(key, 7);

        assertThat(index.ceiling(SizeOrder.first(1))).isEqualTo(7);
        assertThat(index.ceiling(SizeOrder.first(Chunks.MAX_REGION_GRANULES))).isEqualTo(7);
        assertThat(index.ceiling(key + 1)).isEqualTo(FreeIndex.NONE);
    }

    @Test
    void equalSizesComeInOrderOfAddress() {
        final List<Integer> taken = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            final int place = i * 389 % 1000;
            add(SizeOrder.key(3, 0x7000_0000L + place * 768L), place);
        }
        for (int chunk = index.first(); chunk != FreeIndex.NONE; chunk = index.first()) {
            taken.add(chunk);
            index.remove(SizeOrder.key(3, 0x7000_0000L + chunk * 768L));
        }

        assertThat(taken).hasSize(1000).isSorted();
    }
}
