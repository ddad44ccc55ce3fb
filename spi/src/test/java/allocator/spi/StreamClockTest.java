package allocator.spi;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;
import net.jqwik.api.constraints.Size;

class StreamClockTest {
    private static StreamClock clock(List<IdleStream> streams, Map<Integer, Long> known) {
        StreamClock clock = StreamClock.EMPTY;
        for (final Map.Entry<Integer, Long> entry : known.entrySet()) {
            clock = clock.with(streams.get(entry.getKey()), entry.getValue());
        }
        return clock;
    }

    @Property
    void aMergeKnowsTheMostOfBothButOfEndedStreams(
            @ForAll @Size(max = 12) Map<@IntRange(max = 19) Integer, @LongRange(min = 1, max = 9) Long> one,
            @ForAll @Size(max = 12) Map<@IntRange(max = 19) Integer, @LongRange(min = 1, max = 9) Long> other,
            @ForAll @Size(max = 5) List<@IntRange(max = 19) Integer> ended) {
        final List<IdleStream> streams =
                Stream.generate(IdleStream::new).limit(20).toList();
        final TreeMap<Integer, Long> expected = new TreeMap<>(one);
        other.forEach((stream, syncId) -> expected.merge(stream, syncId, Math::max));
        final StreamClock first = clock(streams, one);
        final StreamClock second = clock(streams, other);
        ended.forEach(stream -> streams.get(stream).close());
        expected.keySet().removeAll(ended);
        final StreamClock merged = first.merge(second);
        for (int stream = 0; stream < streams.size(); stream++) {
            assertThat(merged.syncId(streams.get(stream).id())).isEqualTo(expected.getOrDefault(stream, 0L));
        }
        assertThat(merged.size()).isEqualTo(expected.size());
    }

    @Property
    void whatIsKnownIsNotForgotten(
            @ForAll @LongRange(min = 1, max = 9) long first, @ForAll @LongRange(min = 1, max = 9) long second) {
        final IdleStream stream = new IdleStream();
        assertThat(StreamClock.EMPTY.with(stream, first).with(stream, second).syncId(stream.id()))
                .isEqualTo(Math.max(first, second));
    }
}
