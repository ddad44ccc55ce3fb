package allocator.conformance.subject;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Optional;
import org.junit.jupiter.api.Test;

/** A memory is not tested if it has less than the kit needs, and not for what its provider says alone. */
class RoomTest {
    private static Optional<String> obstacle(long capacity, boolean saysWhatIsFree) {
        final PlainFactory factory = new PlainFactory(capacity, saysWhatIsFree);
        final Optional<String> obstacle = Room.obstacle(factory, PlainFactory.MEMORY);
        assertThat(factory.isLeft()).isTrue();
        return obstacle;
    }

    @Test
    void aMemoryThatHasLessIsNotTested() {
        assertThat(obstacle(Room.EXPECTED - 1, true))
                .hasValueSatisfying(reason -> assertThat(reason).contains("262143 KiB", "256 MiB"));
        assertThat(obstacle(0, true)).isPresent();
    }

    @Test
    void aMemoryThatHasEnoughIsTested() {
        assertThat(obstacle(Room.EXPECTED, true)).isEmpty();
    }

    @Test
    void aProviderThatSaysItHasLessThanItHasIsTested() {
        assertThat(obstacle(Room.EXPECTED, false)).isEmpty();
    }
}
