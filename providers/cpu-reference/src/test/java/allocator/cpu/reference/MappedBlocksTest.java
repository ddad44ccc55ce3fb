package allocator.cpu.reference;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class MappedBlocksTest {
    private static final long BLOCK = 1 << 18;
    private static final int BLOCKS = 1000;
    private static final long SECOND = 1_000_000_000;

    /** Addresses with and without memory, of which Linux counts neighbours as one mapping. */
    private final Space space = new Space();

    private final ProcessMappings mappings = new ProcessMappings(400, space::count, () -> space.nanos);
    private final MappedBlocks blocks = new MappedBlocks(mappings, space);

    private List<Long> allocate(int count) {
        final List<Long> addresses = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            addresses.add(blocks.allocate(BLOCK));
        }
        assertThat(addresses).doesNotContain(0L).doesNotHaveDuplicates();
        return addresses;
    }

    private List<Long> allocateAndFreeEverySecond() {
        final List<Long> live = allocate(BLOCKS);
        final List<Long> kept = new ArrayList<>();
        for (int i = 0; i < BLOCKS; i++) {
            if (i % 2 == 0) {
                blocks.free(live.get(i), BLOCK);
            } else {
                kept.add(live.get(i));
            }
        }
        return kept;
    }

    @Test
    void holesBetweenBlocksTakeNoMoreThanThreeQuartersOfTheMappings() {
        allocateAndFreeEverySecond();
        assertThat(space.count()).isBetween(250L, 300L);
        assertThat(space.resident()).isEqualTo(BLOCKS / 2 * BLOCK);
    }

    @Test
    void addressesWithoutMemoryServeTheNextBlocks() {
        allocateAndFreeEverySecond();
        final long end = space.end();
        allocate(100);
        assertThat(space.end()).isEqualTo(end);
        assertThat(space.count()).isLessThanOrEqualTo(300);
    }

    @Test
    void everyAddressGoesBackWhenTheBlocksAreFreed() {
        final List<Long> live = allocateAndFreeEverySecond();
        Collections.shuffle(live, new Random(1));
        live.forEach(address -> blocks.free(address, BLOCK));
        allocate(300).forEach(address -> blocks.free(address, BLOCK));
        assertThat(space.resident()).isZero();
        assertThat(space.count()).isLessThan(10);
    }

    @Test
    void mappingsOfOthersLeaveNoRoomForNewBlocks() {
        space.others = 300;
        assertThat(blocks.allocate(BLOCK)).isZero();
        space.others = 0;
        assertThat(blocks.allocate(BLOCK))
                .as("the count is not read again at each call")
                .isZero();
        space.nanos += SECOND;
        assertThat(blocks.allocate(BLOCK)).isNotZero();
    }

    @Test
    void mappingsThatOthersAddedLaterAreSeen() {
        final List<Long> live = allocate(100);
        space.others = 298;
        space.nanos += SECOND;
        for (int i = 0; i < live.size(); i += 2) {
            blocks.free(live.get(i), BLOCK);
        }
        assertThat(space.count()).isLessThanOrEqualTo(300);
    }

    @Test
    void aCountThatCannotBeReadLeavesWhatIsKnown() {
        allocate(1);
        space.isReadable = false;
        allocateAndFreeEverySecond();
        assertThat(space.mapped.size()).isLessThanOrEqualTo(300);
    }

    /** A block joins the mapping before it, so it needs no room for one more. */
    @Test
    void holesBetweenMappingsServeBlocksWhereThereIsNoRoom() {
        allocateAndFreeEverySecond();
        final long end = space.end();
        allocate(BLOCKS / 2);
        assertThat(space.end()).isEqualTo(end);
        assertThat(space.mapped).hasSize(1);
    }

    @Test
    void aHoleThatAnotherOwnerHasTakenServesNoBlock() {
        allocateAndFreeEverySecond();
        space.ignoresWish = true;
        final int before = space.mapped.size();
        int served = 0;
        while (blocks.allocate(BLOCK) != 0) {
            served++;
        }
        assertThat(served).isPositive().isLessThan(BLOCKS / 2);
        assertThat(space.mapped).hasSize(before);
    }

    @Test
    void aBlockThatTheSystemDoesNotUnmapServesAnother() {
        final long address = blocks.allocate(BLOCK);
        space.unmaps = false;
        blocks.free(address, BLOCK);
        assertThat(space.resident()).isZero();
        assertThat(blocks.allocate(BLOCK / 2)).isEqualTo(address);
        assertThat(blocks.allocate(BLOCK / 2)).isEqualTo(address + BLOCK / 2);
    }

    @Test
    void aBlockWhoseFreeFailsIsNotServedAgain() {
        final long address = blocks.allocate(BLOCK);
        space.failure = new OutOfMemoryError("of the test");
        assertThatThrownBy(() -> blocks.free(address, BLOCK)).isSameAs(space.failure);
        space.failure = null;
        assertThat(blocks.allocate(BLOCK)).isNotEqualTo(address);
        blocks.free(address, BLOCK);
        assertThat(blocks.allocate(BLOCK)).isEqualTo(address);
    }

    @Test
    void aBlockWhoseMemoryStaysIsServedOnce() {
        final long address = blocks.allocate(BLOCK);
        space.unmaps = false;
        space.failureOfDiscard = new OutOfMemoryError("of the test");
        blocks.free(address, BLOCK);
        assertThat(blocks.allocate(BLOCK)).isEqualTo(address);
        assertThat(blocks.allocate(BLOCK)).isNotEqualTo(address);
    }

    @Test
    void theCountOfTheProcessIsReadOnceInManyChanges() {
        allocate(BLOCKS);
        assertThat(space.reads).isLessThan(BLOCKS / 10);
    }

    /** The real list has a line for each mapping, and the limit of this system is one that a JVM can live with. */
    @Test
    void aProcessHasMappings() {
        assumeTrue(ProcessMappings.count() > 0, "no list of mappings: not Linux");
        assertThat(ProcessMappings.count()).isBetween(20L, ProcessMappings.limit());
        assertThat(ProcessMappings.PROCESS.haveRoomFor(1)).isTrue();
    }

    private static final class Space implements MappedBlocks.Calls {
        /** Start and end of what is mapped; neighbours are one. */
        private final TreeMap<Long, Long> mapped = new TreeMap<>();

        /** Half blocks with memory. */
        private final BitSet resident = new BitSet();

        private long others;
        private boolean unmaps = true;
        private @Nullable Error failure;
        private @Nullable Error failureOfDiscard;
        private int reads;
        private long nanos;
        private boolean isReadable = true;
        private boolean ignoresWish;

        long count() {
            reads++;
            return isReadable ? mapped.size() + others : ProcessMappings.UNKNOWN;
        }

        long end() {
            return mapped.isEmpty() ? BLOCK : mapped.lastEntry().getValue();
        }

        long resident() {
            return resident.cardinality() * (BLOCK / 2);
        }

        private static int unit(long address) {
            return (int) (address / (BLOCK / 2));
        }

        @Override
        public long map(long wish, long byteSize) {
            if (wish != 0 && !ignoresWish) {
                assertThat(mapped.ceilingKey(wish)).isGreaterThanOrEqualTo(wish + byteSize);
                return mapAt(wish, byteSize);
            }
            long address = wish == 0 ? BLOCK : end() + BLOCK;
            for (final Map.Entry<Long, Long> one : mapped.entrySet()) {
                if (one.getKey() - address >= byteSize) {
                    break;
                }
                address = Math.max(address, one.getValue());
            }
            return mapAt(address, byteSize);
        }

        private long mapAt(long address, long byteSize) {
            add(mapped, address, address + byteSize);
            resident.set(unit(address), unit(address + byteSize));
            return address;
        }

        @Override
        public boolean unmap(long address, long byteSize) {
            if (failure != null) {
                throw failure;
            }
            if (unmaps) {
                remove(mapped, address, address + byteSize);
                resident.clear(unit(address), unit(address + byteSize));
            }
            return unmaps;
        }

        @Override
        public void discard(long address, long byteSize) {
            if (failureOfDiscard != null) {
                throw failureOfDiscard;
            }
            assertThat(mapped.floorEntry(address).getValue()).isGreaterThanOrEqualTo(address + byteSize);
            resident.clear(unit(address), unit(address + byteSize));
        }

        private static void add(NavigableMap<Long, Long> ranges, long start, long end) {
            long first = start;
            final Map.Entry<Long, Long> before = ranges.floorEntry(start);
            if (before != null && before.getValue() >= start) {
                first = before.getKey();
            }
            final Long after = ranges.remove(end);
            ranges.put(first, after == null ? end : after);
        }

        private static void remove(NavigableMap<Long, Long> ranges, long start, long end) {
            final Map.Entry<Long, Long> one = ranges.floorEntry(start);
            assertThat(one.getValue()).isGreaterThanOrEqualTo(end);
            ranges.remove(one.getKey());
            if (one.getKey() < start) {
                ranges.put(one.getKey(), start);
            }
            if (end < one.getValue()) {
                ranges.put(end, one.getValue());
            }
        }
    }
}
