package allocator.arena.chunk;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.spi.SyncStream;
import allocator.testkit.FakeStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The work of a search, counted. That its results are exact, the model test of the arena shows. */
class StreamSearchTest {
    private static final long GRANULES = 1 << 24;
    private static final int BLOCKS = 4;
    private static final int PAIRS = 2000;

    private final BestFit placement = new BestFit(1 << 20);
    private final Region region;
    private final List<FakeStream> streams = new ArrayList<>();
    private final List<long[]> blocks = new ArrayList<>();
    private final Random random = new Random(7);

    StreamSearchTest() {
        placement.prepareRegion(GRANULES);
        region = placement.newRegion(GRANULES);
        region.setBase(1L << 40);
        placement.attach(region);
    }

    private long take(SyncStream stream) {
        final long granules = 1L + random.nextInt(64);
        return placement.take(granules, Granules.toBytes(granules), stream);
    }

    private void free(long address) {
        final int chunk = placement.liveChunk(region, address);
        placement.prepareFree();
        placement.free(region, chunk, placement.granules(region, chunk));
    }

    /** Adds streams, each with live blocks and freed ones between those of other streams. */
    private void addStreams(int count) {
        final int first = streams.size();
        for (int i = 0; i < count; i++) {
            streams.add(new FakeStream());
            blocks.add(new long[BLOCKS]);
        }
        for (int round = 0; round < 2 * BLOCKS; round++) {
            for (int i = first; i < first + count; i++) {
                final long[] own = blocks.get(i);
                if (round >= BLOCKS) {
                    free(own[round % BLOCKS]);
                }
                own[round % BLOCKS] = take(streams.get(i));
            }
        }
    }

    /** Returns how many entries and owners a pair of one of the streams from {@code first} on visits, on average. */
    private double visitsForEachPair(int first, int count) {
        final long before = placement.streamSearch.visits();
        for (int pair = 0; pair < PAIRS; pair++) {
            final int requester = first + random.nextInt(count);
            final long[] own = blocks.get(requester);
            final int block = random.nextInt(BLOCKS);
            free(own[block]);
            own[block] = take(streams.get(requester));
        }
        ConsistencyCheck.of(placement);
        return (double) (placement.streamSearch.visits() - before) / PAIRS;
    }

    @Nested
    class Visits {
        @ParameterizedTest
        @ValueSource(ints = {20, 100, 1000, 20_000})
        void doNotGrowWithTheStreamsThatHaveMemory(int count) {
            addStreams(count);

            assertThat(visitsForEachPair(0, count)).isLessThan(8);
        }

        @Test
        void doNotGrowWithTheStreamsWaitedFor() {
            addStreams(4000);
            final FakeStream last = streams.getLast();
            streams.subList(0, 3999).forEach(stream -> stream.notifyAndWait(last));
            addStreams(4000);
            assertThat(last.waitedStreams()).isEqualTo(3999);

            assertThat(visitsForEachPair(3999, 1)).isLessThan(8);
        }

        @Test
        void areAtMostAFewForEachOwner() {
            addStreams(100);
            final FakeStream other = new FakeStream();
            streams.subList(0, 50).forEach(stream -> stream.notifyAndWait(other));
            final long before = placement.streamSearch.visits();
            final int takes = 1000;
            for (int i = 0; i < takes; i++) {
                take(other);
            }

            assertThat((placement.streamSearch.visits() - before) / takes).isLessThan(4 * 100);
        }
    }

    @Nested
    class MemoryOfAStreamThatHasEnded {
        @Test
        void isUnboundBeforeARegionIsAdded() {
            addStreams(20);
            final long freed = blocks.get(3)[0];
            free(freed);
            streams.get(3).close();
            assertThat(streams.get(3).hasEnded()).isTrue();
            placement.unbindEnded();

            assertThat(ChunkValue.listOf(placement))
                    .extracting(ChunkValue::streamId)
                    .doesNotContain(streams.get(3).id());
            ConsistencyCheck.of(placement);
        }
    }
}
