package allocator.arena.chunk;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ChunksTest {
    private final Chunks chunks = new Chunks();

    private int create(int region, long offset) {
        chunks.ensureSpare(1);
        return chunks.create(region, offset);
    }

    @Test
    void aNewRecordIsFreeAndAlone() {
        final int chunk = create(5, 77);

        assertThat(chunks.isFree(chunk)).isTrue();
        assertThat(chunks.region(chunk)).isEqualTo(5);
        assertThat(chunks.offset(chunk)).isEqualTo(77);
        assertThat(chunks.owner(chunk)).isZero();
        assertThat(chunks.stamp(chunk)).isZero();
        assertThat(chunks.next(chunk)).isEqualTo(Chunks.NONE);
        assertThat(chunks.previous(chunk)).isEqualTo(Chunks.NONE);
    }

    @Test
    void everyFieldHoldsItsGreatestValue() {
        final int chunk = create(Chunks.MAX_REGIONS - 1, Chunks.MAX_REGION_GRANULES - 1);
        final long most = Granules.toBytes(Chunks.MAX_REGION_GRANULES);
        chunks.setInUse(chunk, Chunks.MAX_OWNERS - 1, most);

        assertThat(chunks.isFree(chunk)).isFalse();
        assertThat(chunks.region(chunk)).isEqualTo(Chunks.MAX_REGIONS - 1);
        assertThat(chunks.offset(chunk)).isEqualTo(Chunks.MAX_REGION_GRANULES - 1);
        assertThat(chunks.owner(chunk)).isEqualTo(Chunks.MAX_OWNERS - 1);
        assertThat(chunks.requested(chunk)).isEqualTo(most);
        chunks.trackUntouchedEnds();
        chunks.setOwned(chunk, Chunks.MAX_OWNERS - 1, Long.MAX_VALUE);
        assertThat(chunks.isFree(chunk)).isTrue();
        assertThat(chunks.owner(chunk)).isEqualTo(Chunks.MAX_OWNERS - 1);
        assertThat(chunks.stamp(chunk))
                .as("a stamp too large is never covered by a wait")
                .isEqualTo(Chunks.MAX_STAMP);
        assertThat(chunks.offset(chunk)).isEqualTo(Chunks.MAX_REGION_GRANULES - 1);
    }

    private void expectNeighbours(int... inOrder) {
        for (int i = 0; i < inOrder.length; i++) {
            assertThat(chunks.previous(inOrder[i])).isEqualTo(i == 0 ? Chunks.NONE : inOrder[i - 1]);
            assertThat(chunks.next(inOrder[i])).isEqualTo(i + 1 < inOrder.length ? inOrder[i + 1] : Chunks.NONE);
        }
    }

    @Test
    void splitAndJoinedChunksStayLinked() {
        chunks.ensureSpare(3);
        final int left = chunks.create(3, 0);
        final int right = chunks.takeFront(left, 9, 0, 0, 0, 1);
        final int middle = chunks.takeFront(left, 5, 0, 0, 0, 1);
        expectNeighbours(left, middle, right);
        assertThat(chunks.offset(middle)).isEqualTo(5);
        assertThat(chunks.region(middle)).isEqualTo(3);
        assertThat(chunks.isFree(middle)).isTrue();

        chunks.join(left, middle);
        expectNeighbours(left, right);
        chunks.join(left, right);
        expectNeighbours(left);
        assertThat(chunks.count()).isEqualTo(1);
    }

    @Test
    void recordsAreUsedAgainLastRetiredFirst() {
        final int first = create(0, 0);
        final int second = create(0, 1);
        chunks.retire(first);
        chunks.retire(second);

        assertThat(chunks.count()).isZero();
        assertThat(create(0, 2)).isEqualTo(second);
        assertThat(create(0, 3)).isEqualTo(first);
        assertThat(chunks.count()).isEqualTo(2);
    }

    @Test
    void recordsStayWhereTheyAreWhenTheTableGrows() {
        for (int i = 0; i < 10_000; i++) {
            assertThat(create(i % 7, i)).isEqualTo(i);
        }
        for (int i = 0; i < 10_000; i++) {
            assertThat(chunks.offset(i)).isEqualTo(i);
            assertThat(chunks.region(i)).isEqualTo(i % 7);
        }
    }

    @Test
    void untouchedEndsExistOnceTheyAreTracked() {
        final int before = create(0, 0);
        chunks.trackUntouchedEnds();
        for (int i = 1; i < 1000; i++) {
            create(0, i);
        }
        chunks.ensureSpare(2);
        final int right = chunks.takeFront(before, 8, 0, 0, 0, 1);
        chunks.setUnbound(before);
        chunks.join(before, right, Chunks.ownedWord(1, 0), Chunks.ends(5, 1L << 40));
        chunks.setOwned(998, 1, 0);
        final int rest = chunks.takeFront(997, 4, Chunks.ownedWord(1, 0), Chunks.ends(0, 3), 0, 1);

        assertThat(chunks.untouchedHead(before)).isEqualTo(5);
        assertThat(chunks.untouchedTail(before))
                .as("a longer end is remembered as the longest")
                .isEqualTo((1L << 32) - 1);
        assertThat(chunks.hasUntouchedEnds(998)).isFalse();
        assertThat(chunks.hasUntouchedEnds(rest)).isTrue();
        assertThat(chunks.untouchedHead(rest)).isZero();
        assertThat(chunks.untouchedTail(rest)).isEqualTo(3);
    }

    @Test
    void noFieldOfARecordChangesAnother() {
        final long[] offsets = Boundaries.within(0, Chunks.MAX_REGION_GRANULES - 1);
        final long[] sizes = Boundaries.within(0, Granules.toBytes(Chunks.MAX_REGION_GRANULES));
        for (final long region : Boundaries.within(0, Chunks.MAX_REGIONS - 1)) {
            for (final long offset : offsets) {
                final int chunk = create((int) region, offset);
                for (final long owner : new long[] {0, 1, Chunks.MAX_OWNERS / 2, Chunks.MAX_OWNERS - 1}) {
                    final long requested = sizes[(int) ((offset + owner) % sizes.length)];
                    chunks.setInUse(chunk, (int) owner, requested);
                    if (chunks.isFree(chunk)
                            || chunks.region(chunk) != region
                            || chunks.offset(chunk) != offset
                            || chunks.owner(chunk) != owner
                            || chunks.requested(chunk) != requested
                            || chunks.next(chunk) != Chunks.NONE
                            || chunks.previous(chunk) != Chunks.NONE) {
                        throw new AssertionError(region + ", " + offset + ", " + owner + ", " + requested);
                    }
                }
                chunks.setUnbound(chunk);
                chunks.retire(chunk);
            }
        }
        for (final long stamp : Boundaries.within(0, Long.MAX_VALUE)) {
            final long word = Chunks.ownedWord(Chunks.MAX_OWNERS - 1, stamp);
            assertThat(word & Chunks.MAX_STAMP).isEqualTo(Math.min(stamp, Chunks.MAX_STAMP));
            assertThat(word >>> 45).isEqualTo(Chunks.MAX_OWNERS - 1);
        }
    }
}
