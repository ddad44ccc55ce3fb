package allocator.arena.chunk;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.arena.TableHeap;
import allocator.spi.SyncStream;
import allocator.testkit.FakeStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class CompactionTest {
    private static final long GRANULES = 1 << 20;

    static Stream<BestFit> placements() {
        return Stream.of(new BestFit(1 << 12), new SlabFit(1 << 12));
    }

    private static void addRegion(BestFit placement, int number) {
        placement.prepareRegion(GRANULES);
        final Region region = placement.newRegion(GRANULES);
        region.setBase((1L + number) << 40);
        placement.attach(region);
    }

    private static void free(BestFit placement, long address) {
        final Region region = placement.regions().find(address);
        assertThat(region).isNotNull();
        assertThat(placement.findLive(region, address)).isTrue();
        placement.freeLive(region);
    }

    /** The description of each chunk. */
    @ParameterizedTest
    @MethodSource("placements")
    void theTablesAreAboutAsLargeAsWhatTheyHold(BestFit placement) {
        for (int number = 0; number < 4; number++) {
            addRegion(placement, number);
        }
        final long atFirst = TableHeap.of(placement);
        final List<SyncStream> streams = new ArrayList<>();
        final List<Long> live = new ArrayList<>();
        for (int i = 0; i < 200_000; i++) {
            if (i % 10 == 0) {
                streams.add(new FakeStream());
            }
            live.add(placement.take(4, 1000, streams.getLast()));
        }
        final long full = TableHeap.of(placement);
        Collections.shuffle(live, new Random(1));
        final List<Long> left = live.subList(0, 100);
        live.subList(100, live.size()).forEach(address -> free(placement, address));
        streams.forEach(placement::endRun);
        placement.dissolve();
        final List<ChunkValue> before = ChunkValue.listOf(placement);
        placement.compact();

        assertThat(ChunkValue.listOf(placement)).isEqualTo(before);
        ConsistencyCheck.of(placement);
        assertThat(TableHeap.of(placement)).isLessThan(full / 4);
        left.forEach(address -> free(placement, address));
        streams.forEach(placement::releaseStream);
        placement.compact();
        assertThat(TableHeap.of(placement)).isLessThan(atFirst + 300_000);
    }

    /** A placement that is compacted at times does what one does that never is. */
    @Property(tries = 30)
    void nothingElseChanges(@ForAll long seed) {
        final Random random = new Random(seed);
        final BestFit compacted = new BestFit(1 << 12);
        final BestFit other = new BestFit(1 << 12);
        addRegion(compacted, 0);
        addRegion(other, 0);
        final List<FakeStream> streams =
                Stream.generate(FakeStream::new).limit(1 + random.nextInt(100)).toList();
        final Map<Integer, Long> live = new HashMap<>();
        for (int wave = 0; wave < 6; wave++) {
            final int size = random.nextInt(4) == 0 ? 10 : 6000;
            for (int i = 0; i < 6000; i++) {
                final int key = random.nextInt(size);
                final Long freed = live.remove(key);
                final SyncStream stream = streams.get(random.nextInt(streams.size()));
                if (freed != null) {
                    free(compacted, freed);
                    free(other, freed);
                } else {
                    final long granules = 1L + random.nextInt(80);
                    final long address = compacted.take(granules, granules, stream);
                    assertThat(address).isEqualTo(other.take(granules, granules, stream));
                    live.put(key, address);
                }
            }
            if (random.nextBoolean()) {
                live.values().forEach(address -> {
                    free(compacted, address);
                    free(other, address);
                });
                live.clear();
            }
            compacted.compact();
            ConsistencyCheck.of(compacted);
            assertThat(ChunkValue.listOf(compacted)).isEqualTo(ChunkValue.listOf(other));
        }
    }
}
