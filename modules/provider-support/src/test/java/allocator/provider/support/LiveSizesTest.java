package allocator.provider.support;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LiveSizesTest {
    /** Addresses around the sign bit: signed order would sort them wrongly. */
    private static final long LOW = 0x7FFF_FFFF_FFFF_F000L;

    private static final long HIGH = 0x8000_0000_0000_1000L;

    private final LiveSizes sizes = new LiveSizes();

    @Test
    void memoryIsFoundByItsStartOnly() {
        sizes.put(LOW, 100);
        assertThat(sizes.sizeOf(LOW)).isEqualTo(100);
        assertThat(sizes.sizeOf(LOW + 1)).isEqualTo(LiveSizes.NONE);
        assertThat(sizes.remove(LOW + 1)).isEqualTo(LiveSizes.NONE);
        assertThat(sizes.remove(LOW)).isEqualTo(100);
        assertThat(sizes.count()).isZero();
    }

    @Test
    void entriesComeInUnsignedOrder() {
        sizes.put(HIGH, 2);
        sizes.put(LOW, 1);
        final List<Long> addresses = new ArrayList<>();
        sizes.forEach((address, byteSize) -> addresses.add(address));
        assertThat(addresses).containsExactly(LOW, HIGH);
        assertThat(sizes.totalBytes()).isEqualTo(3);
    }

    @Test
    void theEntriesOfAnotherTableAreAdded() {
        final LiveSizes others = new LiveSizes();
        for (long address = 1; address <= 100; address++) {
            others.put(address << 20, address);
        }
        sizes.put(1 << 20, 7);
        sizes.put(200L << 20, 5);
        sizes.ensureRoom(others.count());
        sizes.putAll(others);

        assertThat(sizes.count()).isEqualTo(101);
        assertThat(sizes.sizeOf(1 << 20)).isEqualTo(1);
        assertThat(sizes.totalBytes()).isEqualTo(5050 + 5);
        assertThat(others.count()).isEqualTo(100);
    }

    @Test
    void anIterationIsNotAffectedByChanges() {
        sizes.put(LOW, 1);
        sizes.put(HIGH, 2);
        sizes.forEach((address, byteSize) -> sizes.remove(address));
        assertThat(sizes.count()).isZero();
    }

    @Nested
    class Containing {
        @Test
        void firstAndLastByteBelongToTheMemory() {
            sizes.put(LOW, 0x2000);
            assertThat(sizes.containing(LOW)).isEqualTo(Map.entry(LOW, 0x2000L));
            assertThat(sizes.containing(HIGH - 1)).isEqualTo(Map.entry(LOW, 0x2000L));
        }

        @Test
        void bytesBeforeAndBehindDoNot() {
            sizes.put(LOW, 0x2000);
            assertThat(sizes.containing(LOW - 1)).isNull();
            assertThat(sizes.containing(HIGH)).isNull();
        }
    }

    @Nested
    class Overlap {
        @Test
        void removesWhatBeginsBeforeInsideAndNotBehind() {
            sizes.put(0x1000, 0x1000);
            sizes.put(0x2000, 0x1000);
            sizes.put(0x3000, 0x1000);
            assertThat(sizes.removeOverlapping(0x1800, 0x1800)).isEqualTo(0x2000);
            assertThat(sizes.sizeOf(0x3000)).isEqualTo(0x1000);
            assertThat(sizes.count()).isEqualTo(1);
        }

        @Test
        void removesWhatContainsTheRange() {
            sizes.put(0x1000, 0x1000);
            assertThat(sizes.removeOverlapping(0x1FFF, 1)).isEqualTo(0x1000);
            assertThat(sizes.removeOverlapping(0x1000, 0x1000)).as("once").isZero();
        }

        @Test
        void removesWhatTheRangeEndsIn() {
            sizes.put(0x1000, 0x100);
            sizes.put(0x1100, 0x100);
            sizes.put(0x1200, 0x100);
            sizes.put(0x1300, 0x100);
            assertThat(sizes.removeOverlapping(0x10FF, 0x102)).isEqualTo(0x300);
            assertThat(sizes.sizeOf(0x1300)).isEqualTo(0x100);
        }

        @Test
        void isFoundWithoutAChange() {
            sizes.put(0x1000, 0x1000);
            assertThat(sizes.overlapping(0x1FFF, 1)).isEqualTo(0x1000);
            assertThat(sizes.overlapping(0, 0x1001)).isEqualTo(0x1000);
            assertThat(sizes.overlapping(0, 0x1000)).isEqualTo(LiveSizes.NONE);
            assertThat(sizes.overlapping(0x2000, 1)).isEqualTo(LiveSizes.NONE);
            assertThat(sizes.totalBytes()).isEqualTo(0x1000);
        }

        @Test
        void adjacentMemoryDoesNotOverlap() {
            sizes.put(0x1000, 0x1000);
            sizes.put(0x3000, 0x1000);
            assertThat(sizes.removeOverlapping(0x2000, 0x1000)).isZero();
            assertThat(sizes.count()).isEqualTo(2);
        }
    }

    /** Regions of a reserved address range may begin a power of two apart. */
    @ParameterizedTest
    @ValueSource(ints = {8, 12, 21, 30, 36, 40, 44})
    void addressesAPowerOfTwoApartMakeNoDeepTree(int shift) {
        final LiveSizes many = new LiveSizes();
        final int count = 1 << Math.min(16, Long.SIZE - 1 - shift);
        for (long i = 1; i <= count; i++) {
            many.put(i << shift, 1);
        }

        assertThat(many.depth()).isLessThan(64);
    }

    /** Were all entries looked at for each removal, they would be looked at ten thousand million times. */
    @Test
    @Timeout(60)
    void theRemovalOfAnOverlapDoesNotLookAtAllEntries() {
        final int count = 100_000;
        for (long i = 1; i <= count; i++) {
            sizes.put(i << 8, 0x80);
        }
        for (long i = 1; i <= count; i++) {
            assertThat(sizes.removeOverlapping((i << 8) + 0x80, 0x80)).isZero();
            assertThat(sizes.removeOverlapping((i << 8) + 0x7F, 0x80)).isEqualTo(0x80);
        }
        assertThat(sizes.isEmpty()).isTrue();
    }

    /** Any mixture of changes leaves what an ordered map has. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void itHoldsWhatAnOrderedMapHolds(long seed) {
        final Random random = new Random(seed);
        final TreeMap<Long, Long> expected = new TreeMap<>(Long::compareUnsigned);
        for (int i = 0; i < 20_000; i++) {
            final long address = LOW + ((long) random.nextInt(400) << 4);
            final long byteSize = 1L + random.nextInt(16);
            switch (random.nextInt(5)) {
                case 0 -> {
                    final Long size = expected.remove(address);
                    assertThat(sizes.remove(address)).isEqualTo(size == null ? LiveSizes.NONE : size);
                }
                case 1 -> {
                    final long end = address + 100;
                    final Map.Entry<Long, Long> before = expected.lowerEntry(address);
                    long bytes = 0;
                    if (before != null && address - before.getKey() < before.getValue()) {
                        bytes += expected.remove(before.getKey());
                    }
                    final Map<Long, Long> inside = expected.subMap(address, end);
                    bytes += inside.values().stream().mapToLong(Long::longValue).sum();
                    assertThat(sizes.overlapping(address, 100) != LiveSizes.NONE)
                            .isEqualTo(bytes > 0);
                    inside.clear();
                    assertThat(sizes.removeOverlapping(address, 100)).isEqualTo(bytes);
                }
                default -> {
                    sizes.put(address, byteSize);
                    expected.put(address, byteSize);
                }
            }
            assertThat(sizes.count()).isEqualTo(expected.size());
        }
        final TreeMap<Long, Long> held = new TreeMap<>(Long::compareUnsigned);
        sizes.forEach(held::put);
        assertThat(held).isEqualTo(expected);
        assertThat(sizes.totalBytes())
                .isEqualTo(expected.values().stream().mapToLong(Long::longValue).sum());
    }

    @Test
    void aTableWithFewEntriesLeftBecomesSmallAtOnce() {
        final LiveSizes many = new LiveSizes();
        final int before = many.capacity();
        for (long i = 1; i <= 100_000; i++) {
            many.put(i << 8, 1);
        }
        assertThat(many.capacity()).isGreaterThan(100_000);
        for (long i = 1; i <= 100_000; i++) {
            many.remove(i << 8);
        }
        many.ensureRoom();

        assertThat(many.capacity()).isEqualTo(before);
    }
}
