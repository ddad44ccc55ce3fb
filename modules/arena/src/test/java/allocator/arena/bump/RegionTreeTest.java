package allocator.arena.bump;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class RegionTreeTest {
    private static final int MANY = 20_000;

    /** Far above the height of a treap of {@link #MANY} nodes, about 35, and far below their number. */
    private static final int MOST_HEIGHT = 60;

    private final RegionTree tree = new RegionTree();

    private static BlockRegion region(long address) {
        final BlockRegion region = new BlockRegion(1, new BumpLane(null, 1), true);
        region.placeAt(address);
        return region;
    }

    private record Entry(BlockRegion region, long key, long stamp) {}

    /** Finds, adds and removes as a plain list does. */
    @Property(tries = 300)
    void isAsAListInOrder(@ForAll long seed, @ForAll @IntRange(min = 1, max = 60) int most) {
        final Random random = new Random(seed);
        final RegionTree tree = new RegionTree();
        final List<Entry> list = new ArrayList<>();
        for (int step = 0; step < 4 * most; step++) {
            if (list.size() < most && random.nextInt(5) < 3) {
                final Entry entry = new Entry(region(random.nextLong() & -256), random.nextInt(20), random.nextInt(20));
                list.add(entry);
                tree.add(entry.region.inLane, entry.key, entry.stamp);
            } else if (!list.isEmpty()) {
                tree.remove(list.remove(random.nextInt(list.size())).region.inLane);
            }
            list.sort(Comparator.comparingLong(Entry::key)
                    .thenComparing(entry -> entry.region.base(), Long::compareUnsigned));
            final long key = random.nextInt(-1, 21);
            final long stamp = random.nextInt(-1, 21);
            assertThat(tree.count()).isEqualTo(list.size());
            assertThat(inOrder(tree)).isEqualTo(list.stream().map(Entry::region).toList());
            assertThat(tree.first(key))
                    .isSameAs(list.stream()
                            .filter(e -> e.key >= key)
                            .map(Entry::region)
                            .findFirst()
                            .orElse(null));
            assertThat(tree.last(key))
                    .isSameAs(list.reversed().stream()
                            .filter(e -> e.key <= key)
                            .map(Entry::region)
                            .findFirst()
                            .orElse(null));
            assertThat(tree.first(key, stamp))
                    .isSameAs(list.stream()
                            .filter(e -> e.key >= key && e.stamp < stamp)
                            .map(Entry::region)
                            .findFirst()
                            .orElse(null));
        }
    }

    private static List<BlockRegion> inOrder(RegionTree tree) {
        final List<BlockRegion> regions = new ArrayList<>();
        for (BlockRegion at = tree.first(Long.MIN_VALUE); at != null; at = tree.next(at.inLane)) {
            regions.add(at);
        }
        return regions;
    }

    @Test
    void isLowHoweverRegionsComeAndGo() {
        final List<BlockRegion> regions = new ArrayList<>();
        for (int i = 0; i < MANY; i++) {
            regions.add(region((1L << 40) + i * 65_792L));
            tree.add(regions.get(i).inLane, i, 0);
        }
        assertThat(tree.height()).isLessThanOrEqualTo(MOST_HEIGHT);

        for (int i = 0; i < MANY; i += 2) {
            tree.remove(regions.get(i).inLane);
            tree.add(regions.get(i).inLane, 0, 0);
        }
        assertThat(tree.height()).isLessThanOrEqualTo(MOST_HEIGHT);

        Collections.shuffle(regions, new Random(1));
        regions.forEach(region -> tree.remove(region.inLane));
        assertThat(tree.height()).isZero();
    }
}
