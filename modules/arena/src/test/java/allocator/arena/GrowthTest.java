package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.arena.chunk.Boundaries;
import allocator.arena.chunk.Granules;
import java.util.stream.LongStream;
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

    private static long[] sizes(long most) {
        return LongStream.of(Boundaries.within(1, most / Granules.BYTES))
                .map(Granules::toBytes)
                .sorted()
                .toArray();
    }

    /** The step is the size of the last, doubled until it holds the request; the next is twice that, up to the cap. */
    @Test
    void everyStepIsADoublingWithinTheCapAndTheLargestRegion() {
        final long[] requests = sizes(Growth.MAX_REGION);
        final long[] sizes = sizes(MAX);
        for (final long cap : sizes) {
            final Growth growth = new Growth(
                    new ArenaConfig(ExtendStrategy.POWER_OF_TWO, 1, 1, 1, cap, 0, PlacementPolicy.BEST_FIT, 0, true));
            for (final long last : sizes) {
                for (final long rounded : requests) {
                    growth.restore(last);
                    final long planned = growth.plan(rounded);
                    final long next = growth.next();
                    final boolean isPlanned = planned >= rounded
                            && planned <= Growth.MAX_REGION
                            && (planned == Math.min(last, Growth.MAX_REGION)
                                    || (planned / 2 < rounded
                                            && Long.bitCount(planned / Granules.BYTES)
                                                    <= Long.bitCount(last / Granules.BYTES)));
                    final long doubled = last >= cap - last ? cap : 2 * last;
                    if (!isPlanned || next != (rounded > last ? planned : doubled)) {
                        throw new AssertionError(rounded + " after " + last + " with a cap of " + cap + ": " + planned
                                + ", then " + next);
                    }
                }
            }
        }
    }

    /** Less than before, no less than the request, and 0 only where there is nothing between. */
    @Test
    void everyStepDownIsBetweenTheRequestAndTheFailure() {
        final long[] sizes = sizes(Growth.MAX_REGION);
        LongStream.concat(LongStream.rangeClosed(1, 1 << 12).map(Granules::toBytes), LongStream.of(sizes))
                .forEach(failed -> {
                    for (int i = 0; i < sizes.length && sizes[i] <= failed; i++) {
                        final long rounded = sizes[i];
                        final long less = Growth.afterFailureOf(failed, rounded);
                        final boolean isBetween = less >= rounded && less < failed && Granules.isWhole(less);
                        final boolean isNear = less == rounded || less >= failed / 10 * 9 - (failed >> 22);
                        if (rounded == failed ? less != 0 : !isBetween || !isNear) {
                            throw new AssertionError(less + " after " + failed + " for " + rounded);
                        }
                    }
                });
    }
}
