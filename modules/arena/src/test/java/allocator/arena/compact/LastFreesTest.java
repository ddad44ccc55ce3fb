package allocator.arena.compact;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.arena.TableHeap;
import allocator.spi.SyncStream;
import allocator.testkit.FakeStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class LastFreesTest {
    private static final int INDEXES = 8;

    private final FreeingStreams streams = new FreeingStreams();
    private final LastFrees frees = new LastFrees(streams);

    private int countFree(SyncStream stream) {
        final int number = streams.number(stream);
        streams.countFree(number);
        return number;
    }

    private final FakeStream first = new FakeStream();
    private final FakeStream second = new FakeStream();

    @BeforeEach
    void makeRoom() {
        frees.ensureLength(INDEXES);
    }

    private void free(int index, SyncStream stream) {
        frees.record(index, countFree(stream), stream.syncId());
    }

    @Test
    void aFreeIsForItsStreamAndThoseThatHaveWaited() {
        free(0, first);
        assertThat(frees.isNone(0)).isFalse();
        assertThat(frees.isBefore(0, first)).isTrue();
        assertThat(frees.isBefore(0, second)).isFalse();
        assertThat(frees.isBefore(0, null)).isFalse();
        first.notifyAndWait(second);
        assertThat(frees.isBefore(0, second)).isTrue();
        free(0, first);
        assertThat(frees.isBefore(0, second)).isFalse();
        assertThat(frees.isNone(1)).isTrue();
    }

    @Test
    void whatSeveralStreamsFreedIsForNoneUntilAllButOneAreDone() {
        free(0, first);
        free(0, second);
        assertThat(frees.isBefore(0, first)).isFalse();
        assertThat(frees.isBefore(0, second)).isFalse();
        streams.finish(first);
        assertThat(frees.isBefore(0, second)).isTrue();
        assertThat(frees.isBefore(0, first)).isFalse();
        streams.finish(second);
        assertThat(frees.isNone(0)).isTrue();
    }

    @Test
    void ofSeveralStreamsAnyMayBeDoneFirst() {
        free(0, first);
        free(0, second);
        streams.finish(second);
        assertThat(frees.isNone(0)).isFalse();
        free(0, second);
        streams.finish(first);
        assertThat(frees.isBefore(0, second)).isTrue();
    }

    @Test
    void aStreamThatIsDoneDoesNotCountForWhatAnotherFreesLater() {
        free(0, first);
        streams.finish(first);
        free(0, second);
        assertThat(frees.isBefore(0, second)).isTrue();
        streams.finish(second);
        assertThat(frees.isNone(0)).isTrue();
    }

    @Test
    void anEndedStreamHoldsNothing() {
        free(0, first);
        first.close();
        assertThat(frees.isBefore(0, second)).isTrue();
        assertThat(frees.isBefore(0, null)).isTrue();
    }

    @Test
    void allFreesUpToOneMayBeDone() {
        free(0, first);
        free(1, second);
        final long upTo = streams.frees();
        free(1, first);
        streams.finishUpTo(upTo);
        assertThat(frees.isNone(0)).isTrue();
        assertThat(frees.isBefore(1, first)).isTrue();
        final Map<Long, SyncStream> pending = new LinkedHashMap<>();
        streams.addPending(pending);
        assertThat(pending).containsOnlyKeys(first.id());
    }

    @Test
    void theTablesOfOneIndexAreOfOneStreamOrNot() {
        final LastFrees other = new LastFrees(streams);
        other.ensureLength(INDEXES);
        free(0, first);
        assertThat(frees.isOneStreamWith(0, other, 0)).isTrue();
        other.record(0, frees, 0);
        assertThat(frees.isOneStreamWith(0, other, 0)).isTrue();
        other.record(1, countFree(second), second.syncId());
        assertThat(frees.isOneStreamWith(0, other, 1)).isFalse();
        streams.finish(second);
        assertThat(frees.isOneStreamWith(0, other, 1)).isTrue();
    }

    @Test
    void aNumberIsReusedWhenItsStreamIsDone() {
        for (int i = 0; i < 1000; i++) {
            final FakeStream stream = new FakeStream();
            free(i % INDEXES, stream);
            streams.finish(stream);
        }
        assertThat(TableHeap.of(streams)).isLessThan(1000);
        for (int i = 0; i < INDEXES; i++) {
            assertThat(frees.isNone(i)).isTrue();
        }
    }

    @Test
    void eachOfManyStreamsHasItsNumber() {
        final List<FakeStream> all = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            all.add(new FakeStream());
            assertThat(countFree(all.get(i))).isEqualTo(i);
        }
        for (int i = 0; i < all.size(); i++) {
            assertThat(streams.find(all.get(i))).isEqualTo(i);
            assertThat(streams.stream(i)).isSameAs(all.get(i));
        }
        streams.finish(all.get(500));
        final FakeStream another = new FakeStream();
        for (int i = 0; i < 1000 && streams.find(all.get(500)) == 500; i++) {
            countFree(i == 0 ? another : new FakeStream());
        }
        assertThat(streams.find(all.get(500))).isEqualTo(FreeingStreams.NONE);
        assertThat(streams.stream(500)).isNotSameAs(all.get(500));
        assertThat(streams.find(all.get(499))).isEqualTo(499);
    }

    /** More streams than a mask has bits: those that share a bit are not distinguished, and none is forgotten. */
    @Test
    void noStreamIsForgotten() {
        final Random random = new Random(1);
        final List<FakeStream> all = new ArrayList<>();
        final List<TreeSet<Long>> pending = new ArrayList<>();
        for (int i = 0; i < INDEXES; i++) {
            pending.add(new TreeSet<>());
        }
        for (int i = 0; i < 150; i++) {
            all.add(new FakeStream());
        }
        for (int step = 0; step < 20_000; step++) {
            final FakeStream stream = all.get(random.nextInt(all.size()));
            final int index = random.nextInt(INDEXES);
            if (random.nextInt(3) == 0) {
                streams.finish(stream);
                pending.forEach(ofIndex -> ofIndex.remove(stream.id()));
            } else if (random.nextInt(500) == 0) {
                streams.finishUpTo(streams.frees());
                pending.forEach(TreeSet::clear);
            } else {
                free(index, stream);
                pending.get(index).add(stream.id());
            }
            final TreeSet<Long> ofIndex = pending.get(index);
            if (!ofIndex.isEmpty()) {
                assertThat(frees.isNone(index)).as("step %d", step).isFalse();
            }
            if (frees.isBefore(index, stream)) {
                assertThat(ofIndex).as("step %d", step).isSubsetOf(stream.id());
            }
        }
        all.forEach(streams::finish);
        for (int i = 0; i < INDEXES; i++) {
            assertThat(frees.isNone(i)).isTrue();
        }
    }
}
