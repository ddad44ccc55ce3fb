package allocator.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.doctor.Recording.Event;
import allocator.doctor.Recording.Runs;
import java.util.List;
import java.util.function.LongUnaryOperator;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Predictions from runs that are made up: weights, and one block that depends on n. */
class PeakModelTest {
    private static final long WEIGHTS = 3_500_000;

    private static Runs run(long bytes) {
        final List<Event> events = List.of(new Event(bytes, 0), new Event(-bytes, 0));
        return new Runs(WEIGHTS, WEIGHTS, WEIGHTS + bytes, events, events);
    }

    private static boolean isPredicted(LongUnaryOperator bytes) {
        final List<Runs> fitted = LongStream.rangeClosed(1, 3)
                .mapToObj(n -> run(bytes.applyAsLong(n)))
                .toList();
        return PeakModel.of(1, fitted).orElseThrow().predicts(4, run(bytes.applyAsLong(4)));
    }

    @Test
    void aSquareThatLooksLikeARoundingIsNotPredictedBesideLargeWeights() {
        assertThat(isPredicted(n -> 8_192 * n)).isTrue();
        assertThat(isPredicted(n -> 8_192 * n * n)).isTrue();
        assertThat(isPredicted(n -> 8_192 * n + 512 * n * n)).isFalse();
    }

    @Test
    void aRoundingIsNoSquare() {
        assertThat(isPredicted(n -> 1_000_000 * n + (n == 2 ? 512 : 0))).isTrue();
    }
}
