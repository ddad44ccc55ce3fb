package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.arena.chunk.Granules;
import allocator.spi.AllocatorStats;
import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class QuickFitArenaTest {
    private static final long UNIT = Granules.BYTES;
    private static final int STREAMS = 3;

    private final FakeDevice device = new FakeDevice();
    private final BfcArena arena = arena(device, 0, 0);

    private static BfcArena arena(FakeDevice device, long maxMem, long maxKept) {
        return new BfcArena(
                device,
                new ArenaConfig(
                        ExtendStrategy.POWER_OF_TWO,
                        64 * UNIT,
                        64 * UNIT,
                        64 * UNIT,
                        1 << 20,
                        maxMem,
                        PlacementPolicy.QUICK_FIT,
                        maxKept,
                        0,
                        false));
    }

    @Test
    void whatWasFreedLastInASizeIsTakenFirst() {
        final long first = arena.alloc(3 * UNIT);
        final long between = arena.alloc(UNIT);
        final long last = arena.alloc(3 * UNIT);
        arena.alloc(UNIT);
        arena.free(first);
        arena.free(last);

        assertThat(arena.alloc(3 * UNIT)).isEqualTo(last);
        assertThat(arena.alloc(3 * UNIT)).isEqualTo(first);
        assertThat(arena.allocatedSize(between)).isEqualTo(UNIT);
    }

    /** A region of 64 units: what is freed in pieces serves a request for the whole, and no second region comes. */
    @Test
    void whatIsKeptMergesBeforeTheArenaGrows() {
        final BfcArena keeping = arena(device, 0, 64 * UNIT);
        final List<Long> blocks = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            blocks.add(keeping.alloc(8 * UNIT));
        }
        blocks.forEach(keeping::free);

        assertThat(keeping.alloc(64 * UNIT)).isEqualTo(device.base(0));
        assertThat(device.allocCalls()).isEqualTo(1);
    }

    @Test
    void aRequestIsRoundedUpByAnEighthAtMost() {
        assertThat(arena.allocatedSize(arena.alloc(17 * UNIT))).isEqualTo(18 * UNIT);
        assertThat(arena.allocatedSize(arena.alloc(15 * UNIT))).isEqualTo(15 * UNIT);
    }

    /** Rounded up, the request would pass the limit. */
    @Test
    void roundingUpRefusesNothingThatFits() {
        final BfcArena small = arena(new FakeDevice(), 61 * UNIT, 0);
        final long block = small.alloc(61 * UNIT);
        assertThat(small.allocatedSize(block)).isEqualTo(61 * UNIT);
        small.free(block);
        small.free(small.alloc(61 * UNIT));
    }

    @Test
    void moreThanTheShareIsMerged() {
        final BfcArena little = arena(new FakeDevice(), 0, 4 * UNIT);
        final long small = little.alloc(UNIT);
        final long large = little.alloc(4 * UNIT);
        little.alloc(UNIT);
        final long end = little.alloc(2 * UNIT);
        little.free(small);
        little.free(large);

        assertThat(little.alloc(2 * UNIT))
                .as("the large one was merged, and is the best fit")
                .isEqualTo(large);
        assertThat(little.alloc(UNIT)).as("the small one is kept").isEqualTo(small);
        assertThat(end).isGreaterThan(large);
    }

    @Test
    void aKeptBlockIsFree() {
        final long block = arena.alloc(4 * UNIT);
        arena.alloc(UNIT);
        arena.free(block);

        assertThatThrownBy(() -> arena.free(block)).isInstanceOf(DoubleFreeException.class);
        assertThatThrownBy(() -> arena.free(block + UNIT)).isInstanceOf(DoubleFreeException.class);
        assertThatThrownBy(() -> arena.free(block + 1)).isInstanceOf(ForeignAddressException.class);
        assertThatThrownBy(() -> arena.allocatedSize(block)).isInstanceOf(IllegalArgumentException.class);
        final long again = arena.alloc(4 * UNIT);
        assertThatThrownBy(() -> arena.free(again + UNIT)).isInstanceOf(InteriorAddressException.class);
    }

    @Test
    void statisticsKnowNothingOfWhatIsKept() {
        final long block = arena.alloc(4 * UNIT);
        arena.free(block);
        final AllocatorStats stats = arena.stats();

        assertThat(stats.bytesInUse()).isZero();
        assertThat(stats.freeBytes()).isEqualTo(64 * UNIT);
        assertThat(stats.largestFreeChunk()).isEqualTo(64 * UNIT);
        assertThat(arena.snapshot().regions().getFirst().chunks()).hasSize(1);
    }

    @Test
    void aShrinkReturnsWhatIsKept() {
        arena.free(arena.alloc(4 * UNIT));
        arena.shrink();

        assertThat(device.liveBlocks()).isZero();
    }

    @Test
    void aCloseCountsNothingThatIsKept() {
        arena.free(arena.alloc(4 * UNIT));

        assertThat(arena.close().liveAllocations()).isZero();
    }

    @Test
    void aStreamsMemoryIsItsOwnUntilTheRunEnds() {
        final FakeStream one = new FakeStream();
        final FakeStream other = new FakeStream();
        final long block = arena.allocOnStream(4 * UNIT, one);
        arena.free(block);
        assertThat(arena.allocOnStream(4 * UNIT, other)).isNotEqualTo(block);
        assertThat(arena.alloc(4 * UNIT)).isNotEqualTo(block);
        assertThat(arena.allocOnStream(4 * UNIT, one)).isEqualTo(block);

        arena.free(block);
        arena.endRun(one);
        assertThat(arena.allocOnStream(4 * UNIT, other)).isEqualTo(block);
    }

    /** What was freed before the event may pass on, and what was freed after it not, although both are merged later. */
    @Test
    void theStampIsThatOfTheFree() {
        final FakeStream producer = new FakeStream();
        final FakeStream consumer = new FakeStream();
        final long early = arena.allocOnStream(16 * UNIT, producer);
        final long wall = arena.allocOnStream(16 * UNIT, producer);
        final long late = arena.allocOnStream(32 * UNIT, producer);
        arena.free(early);
        producer.notifyAndWait(consumer);
        arena.free(late);

        assertThat(arena.allocOnStream(16 * UNIT, consumer)).isEqualTo(early);
        assertThat(arena.allocOnStream(32 * UNIT, consumer)).isNotEqualTo(late);
        assertThat(wall).isPositive();
    }

    @Test
    void aReleasedStreamsMemoryIsEverybodys() {
        final FakeStream stream = new FakeStream();
        final long kept = arena.allocOnStream(4 * UNIT, stream);
        final long live = arena.allocOnStream(4 * UNIT, stream);
        arena.free(kept);
        arena.releaseStream(stream);
        assertThat(arena.alloc(4 * UNIT)).isEqualTo(kept);
        arena.free(live);
        assertThat(arena.alloc(4 * UNIT)).isEqualTo(live);
    }

    /** Who freed a unit of memory last, and when. */
    private record Tie(SyncStream stream, long syncId) {}

    /** Random programs: no overlap, no memory of a stream that was not waited for, true counters, and nothing lost. */
    @Property(tries = 300)
    void randomProgramsKeepTheRules(@ForAll long seed) {
        final Random random = new Random(seed);
        final FakeDevice memory = new FakeDevice();
        final long limit = random.nextBoolean() ? 0 : (64 + random.nextInt(512)) * UNIT;
        final BfcArena tested = arena(memory, limit, random.nextInt(3) * 40L * UNIT);
        final List<FakeStream> streams =
                Stream.generate(FakeStream::new).limit(STREAMS).toList();
        final Map<Long, @Nullable FakeStream> live = new HashMap<>();
        final Map<Long, Long> liveUnits = new HashMap<>();
        final Map<Long, Tie> ties = new HashMap<>();
        long inUse = 0;
        for (int step = 0; step < 300; step++) {
            final FakeStream stream = random.nextInt(4) == 0 ? null : streams.get(random.nextInt(STREAMS));
            final int choice = random.nextInt(100);
            if (choice < 48) {
                final long byteSize = 1L + random.nextInt(random.nextInt(4) == 0 ? 20_000 : 2000);
                try {
                    final long address =
                            stream == null ? tested.alloc(byteSize) : tested.allocOnStream(byteSize, stream);
                    final long units = Granules.floor(tested.allocatedSize(address));
                    assertThat(Granules.toBytes(units)).isGreaterThanOrEqualTo(byteSize);
                    for (long unit = 0; unit < units; unit++) {
                        final long at = address + Granules.toBytes(unit);
                        assertThat(liveUnits.put(at, address)).as("overlap").isNull();
                        final Tie tie = ties.remove(at);
                        assertThat(tie == null
                                        || tie.stream == stream
                                        || (stream != null && stream.lastWaitedSyncId(tie.stream) > tie.syncId))
                                .as("memory that may still be in use")
                                .isTrue();
                    }
                    live.put(address, stream);
                    inUse += Granules.toBytes(units);
                } catch (OutOfMemoryException e) {
                    assertThat(limit).isPositive();
                    assertThat(e.shortage().largestFree()).isLessThan(byteSize);
                }
            } else if (choice < 90 && !live.isEmpty()) {
                final long address = new ArrayList<>(live.keySet()).get(random.nextInt(live.size()));
                final long byteSize = tested.allocatedSize(address);
                tested.free(address);
                final FakeStream owner = live.remove(address);
                for (long at = address; at < address + byteSize; at += UNIT) {
                    liveUnits.remove(at);
                    if (owner != null) {
                        ties.put(at, new Tie(owner, owner.syncId()));
                    }
                }
                inUse -= byteSize;
            } else if (choice < 95) {
                streams.get(random.nextInt(STREAMS)).notifyAndWait(streams.get(random.nextInt(STREAMS)));
            } else if (choice < 98 && stream != null) {
                tested.endRun(stream);
                ties.values().removeIf(tie -> tie.stream == stream);
            } else if (choice == 98) {
                assertThat(tested.stats().bytesInUse()).isEqualTo(inUse);
            } else {
                tested.shrink();
                ties.clear();
            }
            tested.checkConsistency();
        }
        List.copyOf(live.keySet()).forEach(tested::free);
        streams.forEach(tested::releaseStream);
        tested.shrink();
        assertThat(tested.stats().bytesHeld()).isZero();
        assertThat(memory.liveBlocks()).isZero();
    }
}
