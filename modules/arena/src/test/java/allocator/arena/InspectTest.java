package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.Region;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.AllocatorStats;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What {@link BfcArena#inspect} lists. */
class InspectTest {
    private static final long MIB = 1 << 20;
    private static final long PAGE = 1 << 16;

    private final FakeDevice device = new FakeDevice();
    private final FakeStream stream = new FakeStream();

    private BfcArena create(Map<String, String> options) {
        return new BfcArena(device, ArenaConfig.from(AllocatorOptions.of(options)));
    }

    /** An arena on pages, each an extent of its own. */
    private BfcArena pages(long most) {
        return AllocatedPages.arena(
                device,
                new ArenaConfig(
                        ExtendStrategy.POWER_OF_TWO,
                        1,
                        1,
                        1,
                        1,
                        most * PAGE,
                        PlacementPolicy.COMPACT,
                        0,
                        true,
                        new CompactConfig(0, 0, Integer.MAX_VALUE, 1, 0)));
    }

    private static Stream<Chunk> chunks(AllocatorSnapshot memory) {
        return Stream.concat(
                memory.regions().stream().flatMap(region -> region.chunks().stream()), memory.blocks().stream());
    }

    private static long bytes(AllocatorSnapshot memory, State... states) {
        return chunks(memory)
                .filter(chunk -> List.of(states).contains(chunk.state()))
                .mapToLong(Chunk::byteSize)
                .sum();
    }

    @Test
    void anArenaWithoutMemoryListsNothing() {
        assertThat(create(Map.of()).inspect()).isEqualTo(AllocatorSnapshot.EMPTY);
    }

    @Test
    void eachChunkHasItsState() {
        final BfcArena arena = create(Map.of());
        final long live = arena.alloc(1000);
        final long waiting = arena.allocOnStream(3000, stream);
        final long bound = arena.allocOnStream(5000, stream);
        final long reserve = arena.reserve(12_345);
        arena.free(waiting);

        final AllocatorSnapshot memory = arena.inspect();

        assertThat(memory.regions()).singleElement().satisfies(region -> {
            assertThat(region.byteSize()).isEqualTo(MIB);
            assertThat(region.chunks())
                    .containsExactly(
                            new Chunk(live, 1024, 1000, State.LIVE, 0),
                            new Chunk(waiting, 3072, 0, State.WAITING, stream.id()),
                            new Chunk(bound, 5120, 5000, State.LIVE, stream.id()),
                            new Chunk(bound + 5120, MIB - 9216, 0, State.FREE, 0));
        });
        assertThat(memory.blocks()).containsExactly(new Chunk(reserve, 12_345, 12_345, State.LIVE, 0));
        assertThat(memory.chunkCount()).isEqualTo(5);
    }

    @Test
    void theFreeUnitsOfASlabAreListedAndStayCached() {
        final BfcArena arena = create(Map.of("arena.policy", "slabs", "arena.initial_chunk_size_bytes", "4m"));
        final long freed = arena.alloc(4096);
        final long live = arena.alloc(4000);
        arena.free(freed);

        assertThat(arena.inspect().regions().getFirst().chunks())
                .startsWith(new Chunk(freed, 4096, 0, State.CACHED, 0), new Chunk(live, 4096, 4000, State.LIVE, 0))
                .endsWith(new Chunk(freed + (1 << 16), 63 << 16, 0, State.FREE, 0))
                .hasSize(17);
        assertThat(bytes(arena.inspect(), State.CACHED)).isEqualTo(15 * 4096);
    }

    @Test
    void pagesWithoutMemoryAreToldFromFreeOnes() {
        final BfcArena arena = pages(0);
        final long freed = arena.alloc(2 * PAGE);
        arena.alloc(PAGE);
        arena.free(freed);

        final AllocatorSnapshot memory = arena.inspect();

        assertThat(bytes(memory, State.LIVE)).isEqualTo(PAGE);
        assertThat(bytes(memory, State.FREE)).isEqualTo(2 * PAGE);
        assertThat(bytes(memory, State.UNMAPPED)).isPositive();
        assertThat(bytes(memory, State.LIVE, State.FREE))
                .isEqualTo(arena.stats().bytesHeld());
    }

    /** Pages that were moved may be used where they were by a stream that is not known to be done. */
    @Test
    void movedPagesOfAStreamThatIsNotDoneAreWaiting() {
        final BfcArena arena = pages(3);
        final FakeStream later = new FakeStream();
        final long first = arena.allocOnStream(PAGE, stream);
        final long between = arena.alloc(PAGE);
        final long last = arena.allocOnStream(PAGE, stream);
        arena.free(first);
        arena.free(last);
        stream.notifyAndWait(later);
        final long moved = arena.allocOnStream(2 * PAGE, later);
        assertThat(moved).as("the first page is behind the last now").isEqualTo(last);
        arena.free(moved);
        arena.endRun(later);

        final AllocatorSnapshot memory = arena.inspect();

        assertThat(chunks(memory))
                .contains(
                        new Chunk(last, PAGE, 0, State.FREE, 0),
                        new Chunk(last + PAGE, PAGE, 0, State.WAITING, stream.id()));
        arena.endRun(stream);
        assertThat(bytes(arena.inspect(), State.FREE)).isEqualTo(2 * PAGE);
        arena.free(between);
    }

    /** Over random programs: the chunks tile their regions, and add up to the statistics. */
    @ParameterizedTest
    @EnumSource(
            value = PlacementPolicy.class,
            names = {"BEST_FIT", "SLABS"})
    void theSumsAreThoseOfTheStatistics(PlacementPolicy policy) {
        final BfcArena arena = new BfcArena(device, ArenaConfig.DEFAULT.withPlacementPolicy(policy));
        final Random random = new Random(7);
        final List<Long> live = new ArrayList<>();
        for (int i = 0; i < 3000; i++) {
            final long byteSize = 1L + random.nextInt(1 << (4 + random.nextInt(14)));
            live.add(
                    switch (random.nextInt(8)) {
                        case 0 -> arena.reserve(byteSize);
                        case 1, 2, 3 -> arena.allocOnStream(byteSize, stream);
                        default -> arena.alloc(byteSize);
                    });
            if (live.size() > 200) {
                arena.free(live.remove(random.nextInt(live.size())));
            }
            if (i % 300 == 0) {
                requireTrue(arena);
            }
        }
        requireTrue(arena);
    }

    private static void requireTrue(BfcArena arena) {
        final AllocatorSnapshot memory = arena.inspect();
        final AllocatorStats stats = arena.stats();
        for (final Region region : memory.regions()) {
            long next = region.address();
            for (final Chunk chunk : region.chunks()) {
                assertThat(chunk.address()).isEqualTo(next);
                next += chunk.byteSize();
            }
            assertThat(next).isEqualTo(region.address() + region.byteSize());
        }
        assertThat(bytes(memory, State.LIVE)).isEqualTo(stats.bytesInUse());
        assertThat(chunks(memory).mapToLong(Chunk::requestedBytes).sum()).isEqualTo(stats.requestedBytesInUse());
        assertThat(bytes(memory, State.values())).isEqualTo(stats.bytesHeld());
    }

    @Test
    void eachLaneIsListedWithItsNumber() {
        final BfcArena arena = create(Map.of());
        arena.alloc(1000);
        arena.lanes.choice.leaveMainLane(LaneChoice.requester(stream));
        arena.allocOnStream(1000, stream);

        assertThat(arena.inspect().regions()).extracting(Region::lane).containsExactly(0, 1);
    }

    @Test
    void aClosedArenaListsNothing() {
        final BfcArena arena = create(Map.of());
        arena.close();
        assertThatExceptionOfType(AllocatorClosedException.class).isThrownBy(arena::inspect);
    }
}
