package allocator.arena.chunk;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.spi.SyncStream;
import allocator.testkit.FakeStream;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What every placement policy must do. */
class PlacementTest {
    private static final long BASE = 0x10_0000;

    /** Enough for slabs of each size. */
    private static final long GRANULES = 1 << 14;

    private final FakeStream stream = new FakeStream();
    private final FakeStream other = new FakeStream();

    /** Returns each policy with one region, wholly free. */
    static Stream<BestFit> placements() {
        return Stream.of(new BestFit(64), new SlabFit(64)).map(PlacementTest::withRegion);
    }

    private static BestFit withRegion(BestFit placement) {
        placement.prepareRegion(GRANULES);
        final Region region = placement.newRegion(GRANULES);
        region.setBase(BASE);
        placement.attach(region);
        return placement;
    }

    private static long take(BestFit placement, long granules, @Nullable SyncStream requester) {
        return placement.take(granules, Granules.toBytes(granules), requester);
    }

    private static void free(BestFit placement, long address) {
        final Region region = placement.regions().at(0);
        assertThat(placement.findLive(region, address)).isTrue();
        placement.freeLive(region);
    }

    @ParameterizedTest
    @MethodSource("placements")
    void aChunkTakenHoldsTheRequest(BestFit placement) {
        for (final long granules : new long[] {1, 2, 15, 17, 63, 64, 65, 200}) {
            final long address = take(placement, granules, null);
            final Region region = placement.regions().at(0);

            assertThat(placement.findLive(region, address)).isTrue();
            assertThat(placement.liveGranules())
                    .isEqualTo(placement.takenGranules())
                    .isGreaterThanOrEqualTo(granules);
            assertThat(placement.liveRequested()).isEqualTo(Granules.toBytes(granules));
        }
        ConsistencyCheck.of(placement);
    }

    @ParameterizedTest
    @MethodSource("placements")
    void aRequestLargerThanAllFreeMemoryGetsNone(BestFit placement) {
        assertThat(take(placement, GRANULES + 1, null)).isEqualTo(BestFit.NO_ADDRESS);
        assertThat(take(placement, Chunks.MAX_REGION_GRANULES + 1, null)).isEqualTo(BestFit.NO_ADDRESS);
        assertThat(placement.largest()).isEqualTo(GRANULES);
    }

    @ParameterizedTest
    @MethodSource("placements")
    void freedChunksServeARequestForTheWholeRegion(BestFit placement) {
        final long[] addresses = new long[16];
        for (int i = 0; i < addresses.length; i++) {
            addresses[i] = take(placement, GRANULES / addresses.length, null);
        }
        assertThat(take(placement, 1, null)).isEqualTo(BestFit.NO_ADDRESS);
        for (final long address : addresses) {
            free(placement, address);
        }

        assertThat(take(placement, GRANULES, null)).isEqualTo(BASE);
    }

    @ParameterizedTest
    @MethodSource("placements")
    void dissolvingLeavesNothingInUse(BestFit placement) {
        free(placement, take(placement, 3, null));
        free(placement, take(placement, 5, stream));
        placement.dissolve();

        assertThat(placement.regions().at(0).chunksInUse()).isZero();
        ConsistencyCheck.of(placement);
    }

    @ParameterizedTest
    @MethodSource("placements")
    void aFreedChunkIsNotLive(BestFit placement) {
        final Region region = placement.regions().at(0);
        final long frees = region.frees();
        final long address = take(placement, 3, null);
        free(placement, address);

        assertThat(placement.findLive(region, address)).isFalse();
        placement.dissolve();
        assertThat(region.frees()).isGreaterThan(frees);
    }

    @ParameterizedTest
    @MethodSource("placements")
    void memoryOfAStreamIsNotTakenByOthersBeforeTheyWait(BestFit placement) {
        free(placement, take(placement, GRANULES, stream));
        assertThat(take(placement, 1, other)).isEqualTo(BestFit.NO_ADDRESS);
        assertThat(take(placement, 1, null)).isEqualTo(BestFit.NO_ADDRESS);

        stream.notifyAndWait(other);
        assertThat(take(placement, GRANULES, other)).isEqualTo(BASE);
    }

    @ParameterizedTest
    @MethodSource("placements")
    void theEndOfARunUnbindsWhatIsFreeAndNotWhatIsInUse(BestFit placement) {
        final long live = take(placement, GRANULES / 2, stream);
        final long freed = take(placement, GRANULES / 2, stream);
        free(placement, freed);
        placement.endRun(stream);
        assertThat(take(placement, GRANULES / 2, null)).isEqualTo(freed);

        free(placement, live);
        assertThat(take(placement, GRANULES / 2, null)).isEqualTo(BestFit.NO_ADDRESS);
    }

    @ParameterizedTest
    @MethodSource("placements")
    void aReleaseUnbindsAllMemoryOfAStream(BestFit placement) {
        final long live = take(placement, GRANULES / 2, stream);
        final long freed = take(placement, GRANULES / 2, stream);
        free(placement, freed);
        placement.releaseStream(stream);
        assertThat(take(placement, GRANULES / 2, other)).isEqualTo(freed);

        free(placement, live);
        assertThat(take(placement, GRANULES / 2, null)).isEqualTo(live);
    }

    @ParameterizedTest
    @MethodSource("placements")
    void aRegionWithoutChunksInUseCanBeDetached(BestFit placement) {
        free(placement, take(placement, 100, stream));
        free(placement, take(placement, 7, null));
        placement.dissolve();
        final Region region = placement.regions().at(0);
        final Map<Long, SyncStream> owners = new HashMap<>();
        placement.addOwners(region, owners);
        placement.detach(region);

        assertThat(owners).containsOnly(Map.entry(stream.id(), stream));
        assertThat(placement.regions().count()).isZero();
        assertThat(placement.chunkCount()).isZero();
        assertThat(placement.largest()).isZero();
        ConsistencyCheck.of(placement);
    }

    /** The lane has not set {@link BestFit#step}, so the caller does not learn the address. */
    @ParameterizedTest
    @MethodSource("placements")
    void aRepairFreesWhatWasBeingTaken(BestFit placement) {
        take(placement, 3, null);
        final Repair.Live live = placement.repair();

        assertThat(live).isEqualTo(new Repair.Live(0, 0));
        ConsistencyCheck.of(placement);
    }

    @ParameterizedTest
    @MethodSource("placements")
    void randomProgramsKeepChunksApart(BestFit placement) {
        final Random random = new Random(3);
        final TreeMap<Long, Long> ends = new TreeMap<>();
        for (int step = 0; step < 5_000; step++) {
            if (ends.isEmpty() || random.nextInt(100) < 52) {
                final FakeStream requester = random.nextBoolean() ? null : random.nextBoolean() ? stream : other;
                final long address = take(placement, 1 + random.nextInt(40), requester);
                if (address != BestFit.NO_ADDRESS) {
                    final long end = address + Granules.toBytes(placement.takenGranules());
                    final Map.Entry<Long, Long> below = ends.lowerEntry(end);
                    assertThat(below == null || below.getValue() <= address).isTrue();
                    ends.put(address, end);
                }
            } else {
                final Long from = ends.ceilingKey(BASE + random.nextLong(Granules.toBytes(GRANULES)));
                final long address = from == null ? ends.firstKey() : from;
                ends.remove(address);
                free(placement, address);
            }
            ConsistencyCheck.of(placement);
        }
    }
}
