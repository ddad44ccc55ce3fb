package allocator.arena.chunk;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class SortedTreesTest {
    private final SortedTrees trees = new SortedTrees();
    private final TreeMap<Long, Integer> expected = new TreeMap<>();
    private int tree = SortedTrees.EMPTY;

    private void insert(long key) {
        trees.ensureSpare(1);
        tree = trees.insert(tree, key, (int) key * 3);
        expected.put(key, (int) key * 3);
    }

    private void remove(long key) {
        tree = trees.remove(tree, key);
        expected.remove(key);
    }

    private void check() {
        assertThat(trees.isSorted(tree)).isTrue();
        if (expected.isEmpty()) {
            assertThat(tree).isEqualTo(SortedTrees.EMPTY);
            return;
        }
        assertThat(trees.value(trees.least(tree)))
                .isEqualTo(expected.firstEntry().getValue());
        assertThat(trees.value(trees.greatest(tree)))
                .isEqualTo(expected.lastEntry().getValue());
        for (final long key : expected.keySet()) {
            checkCeiling(key);
            checkCeiling(key + 1);
        }
        checkCeiling(0);
    }

    private void checkCeiling(long key) {
        final Map.Entry<Long, Integer> entry = expected.ceilingEntry(key);
        final int place = trees.ceiling(tree, key);
        if (entry == null) {
            assertThat(place).isEqualTo(SortedTrees.NONE);
        } else {
            assertThat(trees.key(place)).isEqualTo(entry.getKey());
            assertThat(trees.value(place)).isEqualTo(entry.getValue());
        }
    }

    @Property(tries = 200)
    void aTreeDoesWhatAMapDoes(@ForAll long seed, @ForAll @IntRange(min = 1, max = 3000) int range) {
        final Random random = new Random(seed);
        for (int round = 0; round < 6; round++) {
            final int inserts = 20 + random.nextInt(80);
            for (int i = 0; i < 1500; i++) {
                final long key = random.nextInt(range);
                if (expected.containsKey(key)) {
                    remove(key);
                } else if (random.nextInt(100) < inserts) {
                    insert(key);
                }
            }
            check();
        }
        List.copyOf(expected.keySet()).forEach(this::remove);
        check();
    }

    @Test
    void keysInOrderFillTheirNodes() {
        for (int key = 0; key < 100_000; key++) {
            insert(key);
        }
        check();

        assertThat(trees.keys).hasSizeLessThan(120_000);
    }

    @Test
    void keysInReverseOrderFillTheirNodes() {
        for (int key = 100_000; key > 0; key--) {
            insert(key);
        }
        check();

        assertThat(trees.keys).hasSizeLessThan(120_000);
    }

    /** Half of the keys come and go all the time; nodes are joined again, so that little room is lost. */
    @Test
    void churnDoesNotWasteNodes() {
        final List<Long> absent = new ArrayList<>();
        for (long key = 0; key < 20_000; key++) {
            absent.add(key);
        }
        final Random random = new Random(3);
        Collections.shuffle(absent, random);
        final List<Long> present = new ArrayList<>();
        for (int i = 0; i < 400_000; i++) {
            final boolean inserts = present.size() < 10_000;
            final List<Long> from = inserts ? absent : present;
            final int index = random.nextInt(from.size());
            final long key = from.get(index);
            from.set(index, from.getLast());
            from.removeLast();
            if (inserts) {
                insert(key);
                present.add(key);
            } else {
                remove(key);
                absent.add(key);
            }
        }
        check();

        assertThat(trees.keys).hasSizeLessThan(21_000);
    }

    @Test
    void nodesAreUsedAgain() {
        for (int round = 0; round < 50; round++) {
            for (int key = 0; key < 5000; key++) {
                insert(key);
            }
            for (int key = 0; key < 5000; key++) {
                remove(key);
            }
        }

        assertThat(trees.keys).hasSizeLessThan(8000);
    }

    @Test
    void manyTreesShareTheNodes() {
        final int[] many = new int[500];
        java.util.Arrays.fill(many, SortedTrees.EMPTY);
        for (int key = 0; key < 50; key++) {
            for (int i = 0; i < many.length; i++) {
                trees.ensureSpare(1);
                many[i] = trees.insert(many[i], key, i);
            }
        }
        for (int i = 0; i < many.length; i++) {
            assertThat(trees.isSorted(many[i])).isTrue();
            assertThat(trees.value(trees.ceiling(many[i], 25))).isEqualTo(i);
        }
    }
}
