package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.arena.chunk.Granules;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.State;
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
import java.util.stream.LongStream;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class SlabFitArenaTest {
    private static final long GRANULE = Granules.BYTES;
    private static final int STREAMS = 3;

    /** More than have slabs. */
    private static final int MANY_STREAMS = 100;

    /** Enough for slabs of each size. */
    private static final long REGION = 32 << 20;

    private final FakeDevice device = new FakeDevice();
    private final FakeStream stream = new FakeStream();
    private final BfcArena arena = arena(device, 0);

    private static BfcArena arena(FakeDevice device, long maxMem) {
        return new BfcArena(
                device,
                new ArenaConfig(
                        ExtendStrategy.POWER_OF_TWO,
                        REGION,
                        64 * GRANULE,
                        REGION,
                        REGION,
                        maxMem,
                        PlacementPolicy.SLABS,
                        0,
                        false));
    }

    private static List<Long> fill(BfcArena arena, long byteSize) {
        final List<Long> blocks = new ArrayList<>();
        while (true) {
            try {
                blocks.add(arena.alloc(byteSize));
            } catch (OutOfMemoryException e) {
                return blocks;
            }
        }
    }

    private static long cachedBytes(BfcArena arena) {
        return arena.inspect().regions().stream()
                .flatMap(region -> region.chunks().stream())
                .filter(chunk -> chunk.state() == State.CACHED)
                .mapToLong(Chunk::byteSize)
                .sum();
    }

    @Test
    void ofTheSlabsWithoutALiveUnitOneIsCached() {
        final List<Long> blocks = new ArrayList<>();
        for (int i = 0; i < 4 * 64; i++) {
            blocks.add(arena.alloc(GRANULE));
        }
        blocks.forEach(arena::free);

        assertThat(cachedBytes(arena)).isEqualTo(64 * GRANULE);
    }

    @Test
    void blocksOfASizeLieSideBySide() {
        final long first = arena.alloc(3 * GRANULE);
        final long large = arena.alloc(100 * GRANULE);
        final long second = arena.alloc(3 * GRANULE - 100);

        assertThat(second).isEqualTo(first + 3 * GRANULE);
        assertThat(large).isGreaterThan(second);
        assertThat(arena.allocatedSize(second)).isEqualTo(3 * GRANULE);
        assertThat(arena.requestedSize(second)).isEqualTo(3 * GRANULE - 100);
    }

    @Test
    void aRequestIsRoundedUpByASeventeenthAtMost() {
        assertThat(arena.allocatedSize(arena.alloc(17 * GRANULE))).isEqualTo(18 * GRANULE);
        assertThat(arena.allocatedSize(arena.alloc(15 * GRANULE))).isEqualTo(15 * GRANULE);
        assertThat(arena.allocatedSize(arena.alloc(32 * GRANULE))).isEqualTo(32 * GRANULE);
        assertThat(arena.allocatedSize(arena.alloc(33 * GRANULE))).isEqualTo(34 * GRANULE);
        for (long bytes = GRANULE; bytes <= 256 * GRANULE; bytes += GRANULE) {
            assertThat(arena.allocatedSize(arena.alloc(bytes))).isBetween(bytes, bytes + bytes / 17);
        }
        assertThat(arena.allocatedSize(arena.alloc(257 * GRANULE))).isEqualTo(257 * GRANULE);
    }

    @Test
    void aWrongFreeOfAUnitThrowsAndChangesNothing() {
        final long freed = arena.alloc(3 * GRANULE);
        final long live = arena.alloc(3 * GRANULE);
        arena.free(freed);

        assertThatThrownBy(() -> arena.free(freed)).isInstanceOf(DoubleFreeException.class);
        assertThatThrownBy(() -> arena.free(freed + GRANULE)).isInstanceOf(DoubleFreeException.class);
        assertThatThrownBy(() -> arena.free(freed + 1)).isInstanceOf(ForeignAddressException.class);
        assertThatThrownBy(() -> arena.free(live + GRANULE)).isInstanceOf(InteriorAddressException.class);
        assertThatThrownBy(() -> arena.free(live + 1)).isInstanceOf(InteriorAddressException.class);
        assertThatThrownBy(() -> arena.allocatedSize(freed)).isInstanceOf(IllegalArgumentException.class);
        assertThat(arena.stats().bytesInUse()).isEqualTo(3 * GRANULE);
        arena.free(live);
        arena.checkConsistency();
    }

    /** Slabs, and single chunks where no slab fits any more. */
    @Test
    void smallBlocksFillALimitExactly() {
        for (final long granules : new long[] {1, 7, 32, 80, 256}) {
            final BfcArena small = arena(new FakeDevice(), REGION);
            final List<Long> blocks = fill(small, granules * GRANULE);

            assertThat(blocks).hasSize((int) (REGION / GRANULE / granules)).doesNotHaveDuplicates();
            blocks.forEach(small::free);
            small.free(small.alloc(REGION));
            small.checkConsistency();
        }
    }

    /** The units between live ones are free for each size that fits, once a request would fail. */
    @Test
    void freeUnitsServeOtherSizesBeforeARequestFails() {
        final BfcArena small = arena(device, REGION);
        final List<Long> blocks = fill(small, GRANULE);
        final List<Long> live = new ArrayList<>();
        for (int i = 0; i < blocks.size(); i++) {
            if (i % 4 == 0) {
                live.add(blocks.get(i));
            } else {
                small.free(blocks.get(i));
            }
        }

        live.addAll(fill(small, 3 * GRANULE));
        assertThat(small.stats().bytesInUse()).isEqualTo(REGION);
        assertThatExceptionOfType(OutOfMemoryException.class)
                .isThrownBy(() -> small.alloc(1))
                .satisfies(e -> assertThat(e.shortage().largestFree()).isZero());
        live.forEach(small::free);
        small.checkConsistency();
    }

    /** One block in 20 stays when the sizes change: without regard to free units, more than twice as much were held. */
    @Test
    void freeUnitsAreUsedBeforeTheArenaGrowsALot() {
        final Random random = new Random(1);
        List<Long> live = new ArrayList<>();
        for (int round = 0; round < 3; round++) {
            for (final long byteSize : new long[] {256, 1024, 3000, 6000}) {
                final List<Long> next = new ArrayList<>();
                for (final long block : live) {
                    if (random.nextInt(20) == 0) {
                        next.add(block);
                    } else {
                        arena.free(block);
                    }
                }
                LongStream.range(0, 2 * REGION / byteSize).forEach(i -> next.add(arena.alloc(byteSize)));
                live = next;
            }
        }
        final AllocatorStats stats = arena.stats();
        assertThat(stats.bytesHeld()).isLessThan(stats.peakBytesInUse() * 3 / 2);
    }

    @Test
    void statisticsCountUnits() {
        arena.alloc(GRANULE);
        final long block = arena.alloc(4 * GRANULE - 1);
        assertThat(arena.stats().bytesInUse()).isEqualTo(5 * GRANULE);
        assertThat(arena.stats().requestedBytesInUse()).isEqualTo(5 * GRANULE - 1);
        arena.free(block);

        final AllocatorStats stats = arena.stats();
        assertThat(stats.bytesInUse()).isEqualTo(GRANULE);
        assertThat(stats.freeBytes()).isEqualTo(REGION - GRANULE);
        assertThat(stats.largestFreeChunk())
                .as("slabs of 64 and of 256 granules are in use")
                .isEqualTo(REGION - 320 * GRANULE);
    }

    @Test
    void aShrinkReturnsEmptySlabs() {
        arena.free(arena.alloc(4 * GRANULE));
        arena.shrink();

        assertThat(device.liveBlocks()).isZero();
    }

    @Test
    void aCloseCountsLiveUnits() {
        arena.free(arena.alloc(4 * GRANULE));
        arena.alloc(4 * GRANULE);
        arena.alloc(4 * GRANULE);
        arena.alloc(9 * GRANULE);
        arena.alloc(100 * GRANULE);

        assertThat(arena.close().liveAllocations()).isEqualTo(4);
    }

    @Test
    void aStreamsUnitsAreItsOwnUntilTheRunEnds() {
        final BfcArena small = arena(device, REGION);
        small.allocOnStream(4 * GRANULE, stream);
        final long freed = small.allocOnStream(4 * GRANULE, stream);
        small.free(freed);
        assertThat(small.allocOnStream(4 * GRANULE, stream)).isEqualTo(freed);
        small.free(freed);
        assertThat(fill(small, 4 * GRANULE)).doesNotContain(freed);
    }

    @Test
    void theEndOfARunMakesFreeUnitsUsableByAll() {
        final BfcArena small = arena(device, REGION);
        final long live = small.allocOnStream(4 * GRANULE, stream);
        final long freed = small.allocOnStream(4 * GRANULE, stream);
        small.free(freed);
        small.endRun(stream);
        assertThat(fill(small, 4 * GRANULE)).contains(freed);
        small.free(live);
        assertThat(fill(small, 4 * GRANULE)).doesNotContain(live);
        small.endRun(stream);
        assertThat(fill(small, 4 * GRANULE)).contains(live);
    }

    @Test
    void aReleasedStreamsUnitsAreUnbound() {
        final BfcArena small = arena(device, REGION);
        final List<Long> blocks = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            blocks.add(small.allocOnStream(GRANULE, stream));
        }
        small.free(blocks.get(99));
        small.releaseStream(stream);
        assertThat(cachedBytes(small)).isZero();
        fill(small, GRANULE);

        // The first 64 are a slab without a free unit, the others chunks since the release.
        for (final int i : new int[] {0, 5, 98}) {
            small.free(blocks.get(i));
            assertThat(cachedBytes(small)).isZero();
            assertThat(small.alloc(GRANULE)).isEqualTo(blocks.get(i));
        }
        small.checkConsistency();
    }

    /** The stream that freed a granule last, and its sync id then. */
    private record Binding(SyncStream stream, long syncId) {}

    @SuppressWarnings("ReferenceEquality") // a stream is one object
    private static void requireUsable(@Nullable Binding binding, @Nullable FakeStream requester) {
        assertThat(binding == null
                        || binding.stream == requester
                        || (requester != null && requester.lastWaitedSyncId(binding.stream) > binding.syncId))
                .as("memory that may still be in use")
                .isTrue();
    }

    /** Binds the free units of a slab that was cut for a requester to it, once they were examined. */
    @SuppressWarnings("ReferenceEquality") // a stream is one object
    private static void moveBindings(BfcArena tested, Map<Long, Binding> bindings, @Nullable FakeStream requester) {
        final long owner = requester == null ? 0 : requester.id();
        tested.inspect().regions().stream()
                .flatMap(region -> region.chunks().stream())
                .filter(chunk -> chunk.state() == State.CACHED && chunk.streamId() == owner)
                .flatMapToLong(chunk -> LongStream.iterate(
                        chunk.address(), at -> at < chunk.address() + chunk.byteSize(), at -> at + GRANULE))
                .forEach(at -> {
                    final Binding binding = bindings.get(at);
                    requireUsable(binding, requester);
                    if (binding != null && requester != null && binding.stream != requester) {
                        bindings.put(at, new Binding(requester, requester.syncId()));
                    }
                });
    }

    /** Random programs: no overlap, no memory of a stream that was not waited for, true counters, and nothing lost. */
    @SuppressWarnings("ReferenceEquality") // a stream is one object
    @Property
    void randomProgramsKeepTheRules(@ForAll long seed) {
        final Random random = new Random(seed);
        final FakeDevice memory = new FakeDevice();
        final long limit = random.nextBoolean() ? 0 : REGION;
        final BfcArena tested = arena(memory, limit);
        final int count = random.nextInt(4) == 0 ? MANY_STREAMS : STREAMS;
        final int largest = 1 << (8 + random.nextInt(12));
        final List<FakeStream> streams =
                Stream.generate(FakeStream::new).limit(count).toList();
        final Map<Long, @Nullable FakeStream> live = new HashMap<>();
        final Map<Long, Long> liveGranules = new HashMap<>();
        final Map<Long, Binding> bindings = new HashMap<>();
        long inUse = 0;
        for (int step = 0; step < 300 + 3 * count; step++) {
            final FakeStream requester = random.nextInt(4) == 0 ? null : streams.get(random.nextInt(count));
            final int choice = random.nextInt(100);
            if (choice < 50) {
                final long byteSize = 1L + random.nextInt(random.nextInt(4) == 0 ? largest : 2000);
                try {
                    final long address =
                            requester == null ? tested.alloc(byteSize) : tested.allocOnStream(byteSize, requester);
                    final long granules = Granules.floor(tested.allocatedSize(address));
                    assertThat(Granules.toBytes(granules)).isGreaterThanOrEqualTo(byteSize);
                    for (long granule = 0; granule < granules; granule++) {
                        final long at = address + Granules.toBytes(granule);
                        assertThat(liveGranules.put(at, address)).as("overlap").isNull();
                        requireUsable(bindings.remove(at), requester);
                    }
                    moveBindings(tested, bindings, requester);
                    live.put(address, requester);
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
            } else if (choice < 98 && requester != null) {
                tested.endRun(requester);
                bindings.values().removeIf(binding -> binding.stream == requester);
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
