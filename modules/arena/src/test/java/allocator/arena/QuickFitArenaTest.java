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
    private static final long GRANULE = Granules.BYTES;
    private static final int STREAMS = 3;

    /** More than have a cache. */
    private static final int MANY_STREAMS = 200;

    private final FakeDevice device = new FakeDevice();
    private final BfcArena arena = arena(device, 0, 0);

    private static BfcArena arena(FakeDevice device, long maxMem, long maxCached) {
        return new BfcArena(
                device,
                new ArenaConfig(
                        ExtendStrategy.POWER_OF_TWO,
                        64 * GRANULE,
                        64 * GRANULE,
                        64 * GRANULE,
                        1 << 20,
                        maxMem,
                        PlacementPolicy.QUICK_FIT,
                        maxCached,
                        0,
                        false));
    }

    @Test
    void whatWasFreedLastInASizeIsTakenFirst() {
        final long first = arena.alloc(3 * GRANULE);
        final long between = arena.alloc(GRANULE);
        final long last = arena.alloc(3 * GRANULE);
        arena.alloc(GRANULE);
        arena.free(first);
        arena.free(last);

        assertThat(arena.alloc(3 * GRANULE)).isEqualTo(last);
        assertThat(arena.alloc(3 * GRANULE)).isEqualTo(first);
        assertThat(arena.allocatedSize(between)).isEqualTo(GRANULE);
    }

    /**
     * A region of 64 granules: memory freed in chunks serves a request for the whole, and no second region is added.
     */
    @Test
    void whatIsCachedMergesBeforeTheArenaGrows() {
        final BfcArena caching = arena(device, 0, 64 * GRANULE);
        final List<Long> blocks = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            blocks.add(caching.alloc(8 * GRANULE));
        }
        blocks.forEach(caching::free);

        assertThat(caching.alloc(64 * GRANULE)).isEqualTo(device.base(0));
        assertThat(device.allocCalls()).isEqualTo(1);
    }

    @Test
    void aRequestIsRoundedUpByAnEighthAtMost() {
        assertThat(arena.allocatedSize(arena.alloc(17 * GRANULE))).isEqualTo(18 * GRANULE);
        assertThat(arena.allocatedSize(arena.alloc(15 * GRANULE))).isEqualTo(15 * GRANULE);
    }

    /** Rounded up, the request would pass the limit. */
    @Test
    void roundingUpRejectsNothingThatFits() {
        final BfcArena small = arena(new FakeDevice(), 61 * GRANULE, 0);
        final long block = small.alloc(61 * GRANULE);
        assertThat(small.allocatedSize(block)).isEqualTo(61 * GRANULE);
        small.free(block);
        small.free(small.alloc(61 * GRANULE));
    }

    @Test
    void moreThanTheShareIsMerged() {
        final BfcArena little = arena(new FakeDevice(), 0, 4 * GRANULE);
        final long small = little.alloc(GRANULE);
        final long large = little.alloc(4 * GRANULE);
        little.alloc(GRANULE);
        final long end = little.alloc(2 * GRANULE);
        little.free(small);
        little.free(large);

        assertThat(little.alloc(2 * GRANULE))
                .as("the large one was merged, and is the best fit")
                .isEqualTo(large);
        assertThat(little.alloc(GRANULE)).as("the small one is cached").isEqualTo(small);
        assertThat(end).isGreaterThan(large);
    }

    @Test
    void aCachedChunkIsNotLive() {
        final long block = arena.alloc(4 * GRANULE);
        arena.alloc(GRANULE);
        arena.free(block);

        assertThatThrownBy(() -> arena.free(block)).isInstanceOf(DoubleFreeException.class);
        assertThatThrownBy(() -> arena.free(block + GRANULE)).isInstanceOf(DoubleFreeException.class);
        assertThatThrownBy(() -> arena.free(block + 1)).isInstanceOf(ForeignAddressException.class);
        assertThatThrownBy(() -> arena.allocatedSize(block)).isInstanceOf(IllegalArgumentException.class);
        final long again = arena.alloc(4 * GRANULE);
        assertThatThrownBy(() -> arena.free(again + GRANULE)).isInstanceOf(InteriorAddressException.class);
    }

    @Test
    void statisticsMergeWhatIsCached() {
        final long block = arena.alloc(4 * GRANULE);
        arena.free(block);
        final AllocatorStats stats = arena.stats();

        assertThat(stats.bytesInUse()).isZero();
        assertThat(stats.freeBytes()).isEqualTo(64 * GRANULE);
        assertThat(stats.largestFreeChunk()).isEqualTo(64 * GRANULE);
        assertThat(ArenaState.of(arena).chunks()).hasSize(1);
    }

    @Test
    void aShrinkReturnsWhatIsCached() {
        arena.free(arena.alloc(4 * GRANULE));
        arena.shrink();

        assertThat(device.liveBlocks()).isZero();
    }

    @Test
    void aCloseDoesNotCountWhatIsCached() {
        arena.free(arena.alloc(4 * GRANULE));

        assertThat(arena.close().liveAllocations()).isZero();
    }

    @Test
    void aStreamsMemoryIsItsOwnUntilTheRunEnds() {
        final FakeStream one = new FakeStream();
        final FakeStream other = new FakeStream();
        final long block = arena.allocOnStream(4 * GRANULE, one);
        arena.free(block);
        assertThat(arena.allocOnStream(4 * GRANULE, other)).isNotEqualTo(block);
        assertThat(arena.alloc(4 * GRANULE)).isNotEqualTo(block);
        assertThat(arena.allocOnStream(4 * GRANULE, one)).isEqualTo(block);

        arena.free(block);
        arena.endRun(one);
        assertThat(arena.allocOnStream(4 * GRANULE, other)).isEqualTo(block);
    }

    /** What was freed before the event may pass on, and what was freed after it not, although both are merged later. */
    @Test
    void theStampIsThatOfTheFree() {
        final FakeStream producer = new FakeStream();
        final FakeStream consumer = new FakeStream();
        final long early = arena.allocOnStream(16 * GRANULE, producer);
        final long wall = arena.allocOnStream(16 * GRANULE, producer);
        final long late = arena.allocOnStream(32 * GRANULE, producer);
        arena.free(early);
        producer.notifyAndWait(consumer);
        arena.free(late);

        assertThat(arena.allocOnStream(16 * GRANULE, consumer)).isEqualTo(early);
        assertThat(arena.allocOnStream(32 * GRANULE, consumer)).isNotEqualTo(late);
        assertThat(wall).isPositive();
    }

    @Test
    void aReleasedStreamsMemoryIsUnbound() {
        final FakeStream stream = new FakeStream();
        final long cached = arena.allocOnStream(4 * GRANULE, stream);
        final long live = arena.allocOnStream(4 * GRANULE, stream);
        arena.free(cached);
        arena.releaseStream(stream);
        assertThat(arena.alloc(4 * GRANULE)).isEqualTo(cached);
        arena.free(live);
        assertThat(arena.alloc(4 * GRANULE)).isEqualTo(live);
    }

    /** The stream that freed a granule last, and its sync id then. */
    private record Binding(SyncStream stream, long syncId) {}

    /** A program in which one request fills two windows of chunks, where there was room for one table. */
    @Test
    void aRequestMayFillTwoWindows() {
        randomProgramsKeepTheRules(8339943283955899140L);
    }

    /** Random programs: no overlap, no memory of a stream that was not waited for, true counters, and nothing lost. */
    @SuppressWarnings("ReferenceEquality") // a stream is one object
    @Property
    void randomProgramsKeepTheRules(@ForAll long seed) {
        final Random random = new Random(seed);
        final FakeDevice memory = new FakeDevice();
        final long limit = random.nextBoolean() ? 0 : (64 + random.nextInt(512)) * GRANULE;
        final BfcArena tested = arena(memory, limit, random.nextInt(3) * 40L * GRANULE);
        final int count = random.nextInt(4) == 0 ? MANY_STREAMS : STREAMS;
        final List<FakeStream> streams =
                Stream.generate(FakeStream::new).limit(count).toList();
        final Map<Long, @Nullable FakeStream> live = new HashMap<>();
        final Map<Long, Long> liveGranules = new HashMap<>();
        final Map<Long, Binding> bindings = new HashMap<>();
        long inUse = 0;
        for (int step = 0; step < 300 + 3 * count; step++) {
            final FakeStream stream = random.nextInt(4) == 0 ? null : streams.get(random.nextInt(count));
            final int choice = random.nextInt(100);
            if (choice < 48) {
                final long byteSize = 1L + random.nextInt(random.nextInt(4) == 0 ? 20_000 : 2000);
                try {
                    final long address =
                            stream == null ? tested.alloc(byteSize) : tested.allocOnStream(byteSize, stream);
                    final long granules = Granules.floor(tested.allocatedSize(address));
                    assertThat(Granules.toBytes(granules)).isGreaterThanOrEqualTo(byteSize);
                    for (long granule = 0; granule < granules; granule++) {
                        final long at = address + Granules.toBytes(granule);
                        assertThat(liveGranules.put(at, address)).as("overlap").isNull();
                        final Binding binding = bindings.remove(at);
                        assertThat(binding == null
                                        || binding.stream == stream
                                        || (stream != null && stream.lastWaitedSyncId(binding.stream) > binding.syncId))
                                .as("memory that may still be in use")
                                .isTrue();
                    }
                    live.put(address, stream);
                    inUse += Granules.toBytes(granules);
                } catch (OutOfMemoryException e) {
                    assertThat(limit).isPositive();
                    assertThat(e.shortage().largestFree()).isLessThan(byteSize);
                }
            } else if (choice < 90 && !live.isEmpty()) {
                final long address = new ArrayList<>(live.keySet()).get(random.nextInt(live.size()));
                final long byteSize = tested.allocatedSize(address);
                tested.free(address);
                final FakeStream owner = live.remove(address);
                for (long at = address; at < address + byteSize; at += GRANULE) {
                    liveGranules.remove(at);
                    if (owner != null) {
                        bindings.put(at, new Binding(owner, owner.syncId()));
                    }
                }
                inUse -= byteSize;
            } else if (choice < 95) {
                streams.get(random.nextInt(count)).notifyAndWait(streams.get(random.nextInt(count)));
            } else if (choice < 98 && stream != null) {
                tested.endRun(stream);
                bindings.values().removeIf(binding -> binding.stream == stream);
            } else if (choice == 98) {
                assertThat(tested.stats().bytesInUse()).isEqualTo(inUse);
            } else {
                tested.shrink();
                bindings.clear();
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
