package allocator.spi;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.TreeMap;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.LongRange;
import net.jqwik.api.constraints.Size;

class StreamClockTest {
    private static StreamClock clock(Map<Long, Long> known) {
        StreamClock clock = StreamClock.EMPTY;
        for (final Map.Entry<Long, Long> entry : known.entrySet()) {
            clock = clock.with(entry.getKey(), entry.getValue());
        }
        return clock;
    }

    @Property
    void aMergeKnowsTheMostOfBoth(
            @ForAll @Size(max = 12) Map<@LongRange(min = 1, max = 20) Long, @LongRange(min = 1, max = 9) Long> one,
            @ForAll @Size(max = 12) Map<@LongRange(min = 1, max = 20) Long, @LongRange(min = 1, max = 9) Long> other) {
        final TreeMap<Long, Long> expected = new TreeMap<>(one);
        other.forEach((stream, syncId) -> expected.merge(stream, syncId, Math::max));
        final StreamClock merged = clock(one).merge(clock(other));
        for (long stream = 0; stream <= 21; stream++) {
            assertThat(merged.syncId(stream)).isEqualTo(expected.getOrDefault(stream, 0L));
        }
    }

    @Property
    void whatIsKnownIsNotForgotten(
            @ForAll @LongRange(min = 1, max = 9) long first, @ForAll @LongRange(min = 1, max = 9) long second) {
        assertThat(StreamClock.EMPTY.with(7, first).with(7, second).syncId(7)).isEqualTo(Math.max(first, second));
    }
}
