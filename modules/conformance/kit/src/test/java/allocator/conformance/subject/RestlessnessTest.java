package allocator.conformance.subject;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Memory that goes back without a call is seen; memory that stays is not taken for it. */
class RestlessnessTest {
    private static boolean isSeen(Duration kept) throws InterruptedException {
        final PlainFactory factory = new PlainFactory(1 << 30, true, kept);
        final boolean isSeen = Restlessness.isSeen(factory, PlainFactory.MEMORY, Duration.ofMillis(300));
        assertThat(factory.isLeft()).isTrue();
        return isSeen;
    }

    @Test
    void memoryThatGoesBackByItselfIsSeen() throws InterruptedException {
        assertThat(isSeen(Duration.ofMillis(100))).isTrue();
    }

    @Test
    void memoryThatStaysIsNot() throws InterruptedException {
        assertThat(isSeen(Duration.ofDays(1))).isFalse();
        assertThat(isSeen(Duration.ZERO)).isFalse();
    }
}
