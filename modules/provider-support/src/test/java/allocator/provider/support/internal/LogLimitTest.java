package allocator.provider.support.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Which of many messages are logged. */
class LogLimitTest {
    @Test
    void theFirstMessagesAreLoggedAndThenThoseOfPowersOfTwo() {
        final LogLimit limit = new LogLimit();
        final List<Long> logged = new ArrayList<>();
        for (int i = 1; i <= 100; i++) {
            final long number = limit.next();
            if (number != 0) {
                logged.add(number);
            }
        }
        assertThat(logged)
                .containsExactlyElementsOf(LongStream.concat(LongStream.rangeClosed(1, 16), LongStream.of(32, 64))
                        .boxed()
                        .toList());
    }

    @Test
    void theMessagesAfterWhichSomeAreLeftOutSaySo() {
        assertThat(LogLimit.suffix(15)).isEmpty();
        assertThat(LogLimit.suffix(16)).isEqualTo(" (number 16 of its kind; few of the next ones are logged)");
        assertThat(LogLimit.suffix(1024)).contains("1024");
    }
}
