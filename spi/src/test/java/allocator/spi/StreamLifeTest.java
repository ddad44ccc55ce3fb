package allocator.spi;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** What streams remember of others that come and go. */
class StreamLifeTest {
    /**
     * As a server has them: two that stay, and one after the other that waits for one and is waited for by the other.
     */
    @Test
    void aMillionClosedStreamsAreForgotten() {
        final IdleStream producer = new IdleStream();
        final IdleStream consumer = new IdleStream();
        int most = 0;
        for (int i = 0; i < 1_000_000; i++) {
            final IdleStream request = new IdleStream();
            producer.teach(request);
            request.teach(consumer);
            request.close();
            most = Math.max(most, consumer.waitedStreams());
        }
        assertThat(most).isLessThanOrEqualTo(3);
        assertThat(consumer.lastWaitedSyncId(producer)).isEqualTo(1_000_000);
    }

    /** Where a provider forgets to say that a stream has ended. */
    @Test
    void whatIsGarbageIsForgotten() {
        final IdleStream consumer = new IdleStream();
        for (int i = 0; i < 1000; i++) {
            new IdleStream().teach(consumer);
        }
        int tries = 0;
        do {
            System.gc();
            new IdleStream().teach(consumer);
        } while (consumer.waitedStreams() > 100 && ++tries < 50);
        assertThat(consumer.waitedStreams()).isLessThanOrEqualTo(100);
    }

    @Test
    void whatCanStillBeAskedAboutIsRemembered() {
        final IdleStream consumer = new IdleStream();
        final List<IdleStream> producers = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            producers.add(new IdleStream());
            producers.getLast().teach(consumer);
        }
        System.gc();
        new IdleStream().teach(consumer);
        assertThat(producers)
                .allSatisfy(producer ->
                        assertThat(consumer.lastWaitedSyncId(producer)).isEqualTo(1));
    }

    /** Beside clocks that never forget: the same answers, but for ended streams, for which everybody has waited. */
    @Property(tries = 200)
    void theAnswersAreThoseOfAClockThatForgetsNothing(@ForAll long seed) {
        final Random random = new Random(seed);
        final List<IdleStream> streams = new ArrayList<>();
        final List<IdleStream> ended = new ArrayList<>();
        final Map<SyncStream, Map<SyncStream, Long>> known = new HashMap<>();
        for (int step = 0; step < 200; step++) {
            while (streams.size() < 5) {
                streams.add(new IdleStream());
                known.put(streams.getLast(), new HashMap<>());
            }
            final IdleStream producer = streams.get(random.nextInt(5));
            final IdleStream consumer = streams.get(random.nextInt(5));
            if (random.nextInt(10) == 0) {
                producer.close();
                streams.remove(producer);
                ended.add(producer);
            } else if (!consumer.equals(producer)) {
                producer.teach(consumer);
                known.get(producer)
                        .forEach((third, syncId) -> known.get(consumer).merge(third, syncId, Math::max));
                known.get(consumer).merge(producer, producer.syncId(), Math::max);
            }
            for (final IdleStream asked : streams) {
                for (final IdleStream other : streams) {
                    assertThat(asked.lastWaitedSyncId(other))
                            .isEqualTo(
                                    asked.equals(other)
                                            ? Long.MAX_VALUE
                                            : known.get(asked).getOrDefault(other, 0L));
                }
                assertThat(ended)
                        .allSatisfy(
                                gone -> assertThat(asked.lastWaitedSyncId(gone)).isEqualTo(Long.MAX_VALUE));
                assertThat(asked.waitedStreams()).isLessThanOrEqualTo(5 + ended.size());
            }
        }
    }
}
