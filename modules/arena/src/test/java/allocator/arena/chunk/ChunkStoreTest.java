package allocator.arena.chunk;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.spi.SyncStream;
import allocator.testkit.FakeStream;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class ChunkStoreTest {
    private static final long BASE = 0x10_0000;
    private static final long GRANULES = 100;
    private static final long MAX_DEAD = 30;

    private final BestFit placement = new BestFit(MAX_DEAD);
    private final FakeStream stream = new FakeStream();
    private final FakeStream other = new FakeStream();

    /** A chunk, with sizes in granules; the stream is 0 if it is unbound. */
    private record Chunk(long granules, boolean isFree, long stream, long head, long tail) {}

    @BeforeEach
    void attach() {
        placement.prepareRegion(GRANULES);
        final Region region = placement.newRegion(GRANULES);
        region.setBase(BASE);
        placement.attach(region);
    }

    @AfterEach
    void isConsistent() {
        ConsistencyCheck.of(placement);
    }

    private long take(long granules, @Nullable SyncStream requester) {
        return placement.take(granules, granules, requester);
    }

    private void free(long address) {
        final Region region = placement.regions().at(0);
        final int chunk = placement.liveChunk(region, address);
        placement.prepareFree();
        placement.free(region, chunk, placement.granules(region, chunk));
    }

    private List<Chunk> chunks() {
        return ChunkValue.listOf(placement).stream()
                .map(chunk -> new Chunk(
                        Granules.floor(chunk.byteSize()),
                        chunk.isFree(),
                        chunk.streamId(),
                        Granules.floor(chunk.untouchedHeadBytes()),
                        Granules.floor(chunk.untouchedTailBytes())))
                .toList();
    }

    private static Chunk live(long granules, long stream) {
        return new Chunk(granules, false, stream, 0, 0);
    }

    private static Chunk unbound(long granules) {
        return new Chunk(granules, true, 0, 0, 0);
    }

    @Nested
    class Splitting {
        @Test
        void aChunkOfTwiceTheRequestIsSplit() {
            take(50, null);
            take(25, null);

            assertThat(chunks()).containsExactly(live(50, 0), live(25, 0), unbound(25));
        }

        @Test
        void aSmallerExcessStaysWithTheChunk() {
            take(71, null);

            assertThat(chunks()).containsExactly(live(GRANULES, 0));
        }

        @Test
        void anExcessOfTheMostDeadMemoryIsSplitOff() {
            take(GRANULES - MAX_DEAD, null);

            assertThat(chunks()).containsExactly(live(GRANULES - MAX_DEAD, 0), unbound(MAX_DEAD));
        }
    }

    @Nested
    class Merging {
        @Test
        void freeNeighboursOnBothSidesBecomeOneChunk() {
            final long left = take(20, null);
            final long middle = take(20, null);
            free(left);
            assertThat(chunks()).containsExactly(unbound(20), live(20, 0), unbound(60));
            free(middle);

            assertThat(chunks()).containsExactly(unbound(GRANULES));
        }

        @Test
        void neighboursOfTwoStreamsStayApart() {
            final long one = take(50, stream);
            final long two = take(50, other);
            free(one);
            free(two);

            assertThat(chunks())
                    .containsExactly(new Chunk(50, true, stream.id(), 0, 0), new Chunk(50, true, other.id(), 0, 0));
        }

        @Test
        void theEndOfARunMergesThem() {
            final long one = take(50, stream);
            final long two = take(50, other);
            free(one);
            free(two);
            placement.endRun(stream);
            placement.endRun(other);

            assertThat(chunks()).containsExactly(unbound(GRANULES));
        }
    }

    @Nested
    class UntouchedEnds {
        @Test
        void unboundNeighboursAreTheUntouchedHeadAndTail() {
            final long left = take(20, null);
            final long middle = take(30, stream);
            free(left);
            free(middle);

            assertThat(chunks()).containsExactly(new Chunk(GRANULES, true, stream.id(), 20, 50));
        }

        @Test
        void anotherStreamTakesTheBestFitAmongThem() {
            final long left = take(20, null);
            final long middle = take(30, stream);
            free(left);
            free(middle);

            assertThat(take(20, other)).isEqualTo(BASE);
            assertThat(take(25, other)).isEqualTo(BASE + Granules.toBytes(50));
            assertThat(chunks())
                    .containsExactly(
                            live(20, other.id()),
                            new Chunk(30, true, stream.id(), 0, 0),
                            live(25, other.id()),
                            unbound(25));
        }

        @Test
        void anOwnRequestMayCrossThem() {
            final long left = take(20, null);
            final long middle = take(30, stream);
            free(left);
            free(middle);

            assertThat(take(30, stream)).isEqualTo(BASE);
            assertThat(chunks()).containsExactly(live(30, stream.id()), new Chunk(70, true, stream.id(), 0, 50));
        }
    }
}
