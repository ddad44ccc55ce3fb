package allocator.arena.upstream;

import static org.junit.jupiter.api.Assertions.assertEquals;

import allocator.arena.chunk.Boundaries;
import java.math.BigInteger;
import org.junit.jupiter.api.Test;

class HeldLimitTest {
    /** Held at most the limit; beside it may be what the device did not take back. */
    @Test
    void everyLimitLeavesWhatIsNeitherHeldNorUnreturned() {
        final long[] sizes = Boundaries.within(0, Long.MAX_VALUE);
        for (final long limit : sizes) {
            for (final long held : Boundaries.within(0, limit)) {
                for (int i = 0; i < sizes.length; i += 3) {
                    final long unreturned = sizes[i];
                    final HeldLimit heldLimit = new HeldLimit(limit, () -> unreturned);
                    heldLimit.take(held);
                    final long rest = limit - held;
                    assertEquals(unreturned < rest ? rest - unreturned : 0, heldLimit.available());
                    heldLimit.giveBack(held);
                    assertEquals(unreturned < limit ? limit - unreturned : 0, heldLimit.available());
                }
            }
        }
    }

    @Test
    void whatIsHeldAndUnreturnedCountsUpToTheLimit() {
        final long[] sizes = Boundaries.within(0, Long.MAX_VALUE);
        for (final long limit : sizes) {
            for (final long held : Boundaries.within(0, limit)) {
                for (final long unreturned : new long[] {0, 1, limit - held, Long.MAX_VALUE - held}) {
                    final BigInteger sum = BigInteger.valueOf(held).add(BigInteger.valueOf(unreturned));
                    final HeldLimit heldLimit = new HeldLimit(limit, () -> unreturned);
                    heldLimit.take(held);
                    assertEquals(sum.min(BigInteger.valueOf(limit)).longValue(), heldLimit.peakHeld());
                }
            }
        }
    }
}
