package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class MoveCapTest {
    private final MoveCap cap = new MoveCap(1000);

    @Test
    void someMovesMayComeAtOnce() {
        for (int i = 0; i < 32; i++) {
            assertThat(cap.allows(0)).isTrue();
            cap.move();
        }
        assertThat(cap.allows(0)).isFalse();
        assertThat(cap.allows(999)).isFalse();
        assertThat(cap.moves()).isEqualTo(32);
    }

    @Test
    void aThousandAllocationsAllowOneMove() {
        for (int i = 0; i < 32; i++) {
            cap.move();
        }
        for (int move = 1; move <= 20; move++) {
            assertThat(cap.allows(1000L * move - 1)).isFalse();
            assertThat(cap.allows(1000L * move)).isTrue();
            cap.move();
        }
    }

    @Test
    void noMoreMovesAreSaved() {
        assertThat(cap.allows(1_000_000)).isTrue();
        for (int i = 0; i < 32; i++) {
            cap.move();
        }
        assertThat(cap.allows(1_000_000)).isFalse();
    }

    @Test
    void aMoveBeyondTheCapCostsWhatIsLeft() {
        for (int i = 0; i < 100; i++) {
            cap.move();
        }
        assertThat(cap.allows(999)).isFalse();
        assertThat(cap.allows(1000)).isTrue();
    }

    @Test
    void denialsAreCounted() {
        cap.deny();
        assertThat(cap.denials()).isEqualTo(1);
        assertThat(cap.moves()).isZero();
    }
}
