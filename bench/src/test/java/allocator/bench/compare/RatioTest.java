package allocator.bench.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class RatioTest {
    private static final int EXPERIMENTS = 1000;
    private static final double NOISE = 0.03;

    @Nested
    class Value {
        @Test
        void theValueOfEqualRatiosIsThatRatio() {
            assertEquals(1.25, Ratio.of(List.of(1.25, 1.25, 1.25)).value(), 1e-12);
        }

        @Test
        void twiceAsLongAndHalfAsLongCancelOut() {
            assertEquals(1, Ratio.of(List.of(2.0, 0.5)).value(), 1e-12);
        }

        @Test
        void oneDisturbedPairMovesItLittle() {
            final List<Double> ratios = new ArrayList<>(List.of(0.98, 0.99, 0.99, 1.0, 1.0, 1.0, 1.01, 1.01, 1.02));
            final double undisturbed = Ratio.of(ratios).value();
            ratios.add(50.0);

            assertEquals(undisturbed, Ratio.of(ratios).value(), 0.01);
        }

        @Test
        void withoutPairsThereIsNone() {
            assertEquals(new Ratio(Double.NaN, 0, Double.POSITIVE_INFINITY), Ratio.of(List.of()));
        }
    }

    @Nested
    class Interval {
        @Test
        void fewerThanEightPairsHaveNone() {
            final Ratio ratio = Ratio.of(List.of(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0));

            assertEquals(0, ratio.low());
            assertEquals(Double.POSITIVE_INFINITY, ratio.high());
        }

        @Test
        void thatOfEightPairsReachesFromTheLeastToTheLargest() {
            final Ratio ratio = Ratio.of(List.of(1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 1.07, 1.08));

            assertEquals(1.01, ratio.low(), 1e-12);
            assertEquals(1.08, ratio.high(), 1e-12);
        }

        /** The table of the signed rank test has 15 as the critical sum of 15 pairs at 1 %. */
        @Test
        void itsEndsAreThoseOfTheSignedRankTest() {
            final List<Double> ratios = new ArrayList<>();
            for (int i = 1; i <= 15; i++) {
                ratios.add(Math.exp(i));
            }
            // Means of two of 1 to 15 up to 4: 1; 1.5; 2, 2; 2.5, 2.5; 3, 3, 3; 3.5 (3 times); 4 (4 times): the 16th is
            // 4.
            assertEquals(Math.exp(4), Ratio.of(ratios).low(), 1e-9);
            assertEquals(Math.exp(12), Ratio.of(ratios).high(), 1e-6);
        }

        @Test
        void itHoldsTheTrueRatioInAboutNinetyNineOfAHundred() {
            final Random random = new Random(7);
            int hits = 0;
            for (int experiment = 0; experiment < EXPERIMENTS; experiment++) {
                final Ratio ratio = Ratio.of(ratios(random, 15, 1.2));
                assertTrue(ratio.low() <= ratio.value() && ratio.value() <= ratio.high(), ratio::toString);
                hits += ratio.low() <= 1.2 && 1.2 <= ratio.high() ? 1 : 0;
            }
            assertTrue(hits >= 980 && hits < EXPERIMENTS, "held " + hits + " times of " + EXPERIMENTS);
        }

        /** What lets a comparison stop as soon as the intervals suffice. */
        @Test
        void lookingAfterEachRoundPassesARatioAboveTheThresholdLessThanOnceInTwenty() {
            final double threshold = 1.03;
            final int experiments = 400;
            final Random random = new Random(11);
            int passed = 0;
            for (int experiment = 0; experiment < experiments; experiment++) {
                final List<Double> ratios = ratios(random, Ratio.FEWEST_PAIRS, threshold * 1.0001);
                Verdict verdict = Verdict.of(Ratio.of(ratios), threshold);
                while (verdict == Verdict.UNDECIDED && ratios.size() < 40) {
                    ratios.addAll(ratios(random, 1, threshold * 1.0001));
                    verdict = Verdict.of(Ratio.of(ratios), threshold);
                }
                passed += verdict == Verdict.PASS ? 1 : 0;
            }
            assertTrue(passed < experiments / 20, "passed " + passed + " times of " + experiments);
        }

        private static List<Double> ratios(Random random, int count, double truth) {
            final List<Double> ratios = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                ratios.add(truth * Math.exp(NOISE * random.nextGaussian()));
            }
            return ratios;
        }
    }
}
