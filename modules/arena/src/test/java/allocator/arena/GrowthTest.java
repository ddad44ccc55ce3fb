package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.arena.chunk.Granules;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.LongRange;
import org.junit.jupiter.api.Test;

class GrowthTest {
    private static final long MAX = Granules.MAX_BYTES;

    /** With any configuration a planned region holds the request, and growth ends. */
    @Property
    void aPlanHoldsTheRequest(
            @ForAll ExtendStrategy strategy,
            @ForAll @LongRange(min = 1, max = MAX) long initial,
            @ForAll @LongRange(min = 1, max = MAX) long afterShrink,
            @ForAll @LongRange(min = 1, max = MAX) long cap,
            @ForAll @LongRange(min = 0, max = Long.MAX_VALUE) long limit,
            @ForAll @LongRange(min = 1, max = 1L << 36) long granules) {
        final Growth growth = new Growth(
                new ArenaConfig(strategy, initial, 1, afterShrink, cap, limit, PlacementPolicy.BEST_FIT, 0, true));
        final long rounded = Granules.toBytes(granules);
        for (int i = 0; i < 100; i++) {
            final long planned = growth.plan(rounded);
            assertThat(planned).isBetween(rounded, Growth.MAX_REGION);
            assertThat(Granules.isWhole(planned)).isTrue();
            if (i == 50) {
                growth.restart();
            }
        }
    }

    @Property
    void stepsDownEnd(
            @ForAll @LongRange(min = 1, max = 1L << 36) long granules,
            @ForAll @LongRange(min = 1, max = 64) long least) {
        long attempted = Granules.toBytes(granules);
        int steps = 0;
        while (attempted != 0) {
            final long less = Growth.afterFailureOf(attempted, Granules.toBytes(least));
            assertThat(less).isLessThan(attempted);
            attempted = less;
            steps++;
        }
        assertThat(steps).isLessThan(300);
    }

    @Test
    void aFailureOfTheRequestItselfIsTheLast() {
        assertThat(Growth.afterFailureOf(1 << 20, 1 << 20)).isZero();
        assertThat(Growth.afterFailureOf(8192, 256)).isEqualTo(256);
        assertThat(Growth.afterFailureOf(256, 256)).isZero();
        assertThat(Growth.afterFailureOf(64 << 20, 58 << 20)).isEqualTo(58 << 20);
        assertThat(Growth.afterFailureOf(10_240, 256)).isEqualTo(9_216);
    }
}
