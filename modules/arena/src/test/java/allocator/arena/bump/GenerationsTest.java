package allocator.arena.bump;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class GenerationsTest {
    private final Generations generations = new Generations();

    @Nested
    class Positions {
        @Test
        void areLiveInTheFirstGeneration() {
            assertThat(generations.isLive(0, 0)).isTrue();
            assertThat(generations.isLive(1000, 0)).isTrue();
        }

        @Test
        void atAndAboveACutAreFreed() {
            generations.cut(100);
            assertThat(generations.isLive(99, 0)).isTrue();
            assertThat(generations.isLive(100, 0)).isFalse();
            assertThat(generations.isLive(100, generations.current())).isTrue();
        }

        @Test
        void keepTheHighestCutBelowThem() {
            for (int position = 10; position <= 60; position += 10) {
                generations.cut(position);
            }
            generations.cut(35);
            assertThat(generations.isLive(34, 3)).isTrue();
            assertThat(generations.isLive(34, 2)).isFalse();
            assertThat(generations.isLive(60, 6)).isFalse();
            assertThat(generations.isLive(60, 7)).isTrue();
        }

        @Test
        void areAllFreedByAReset() {
            generations.reset();
            assertThat(generations.isLive(0, 0)).isFalse();
            assertThat(generations.isLive(0, 1)).isTrue();
        }
    }

    @Nested
    class Marks {
        @Test
        void surviveACutAtTheirPosition() {
            generations.cut(100);
            assertThat(generations.isStaleMark(100, 0)).isFalse();
        }

        @Test
        void areStaleAfterACutBelowThem() {
            generations.cut(99);
            assertThat(generations.isStaleMark(100, 0)).isTrue();
            assertThat(generations.isStaleMark(100, 1)).isFalse();
        }

        @Test
        void areStaleAfterAResetWhereverTheyAre() {
            generations.reset();
            assertThat(generations.isStaleMark(0, 0)).isTrue();
            assertThat(generations.isStaleMark(0, 1)).isFalse();
        }
    }
}
