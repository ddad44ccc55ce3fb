package allocator.bench.pairs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.bench.sampling.Processors;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

@Timeout(value = 30, threadMode = ThreadMode.SEPARATE_THREAD)
class RoundsTest {
    private static final int LANES = 3;

    private static Rounds rounds() throws IOException {
        return new Rounds(
                new Selection(),
                List.of("replay"),
                new Processors(2 * LANES, LANES),
                new PrintStream(OutputStream.nullOutputStream()));
    }

    @Test
    void eachRoundRunsOnceAndTheLanesRunSideBySide() throws IOException, InterruptedException {
        final List<Integer> numbers = Collections.synchronizedList(new ArrayList<>());
        final CountDownLatch all = new CountDownLatch(LANES);
        try (Rounds rounds = rounds()) {
            rounds.run(2 * LANES + 1, round -> {
                numbers.add(round.number());
                all.countDown();
                all.await();
            });
        }
        assertThat(numbers).containsExactlyInAnyOrder(1, 2, 3, 4, 5, 6, 7);
    }

    @Test
    void aFailureEndsTheOtherLanesAndIsThrown() throws IOException {
        final CountDownLatch never = new CountDownLatch(1);
        final IOException failure = new IOException("no space");
        try (Rounds rounds = rounds()) {
            assertThatThrownBy(() -> rounds.run(LANES, round -> {
                        if (round.number() == 2) {
                            throw failure;
                        }
                        never.await();
                    }))
                    .isSameAs(failure);
        }
    }
}
