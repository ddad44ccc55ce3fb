package allocator.arena.bump;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.provider.support.Failures;
import allocator.testkit.FakeDevice;
import org.junit.jupiter.api.Test;

class FallbackBlocksTest {
    @Test
    void theTablesShrinkWhenFewBlocksAreLeft() {
        final FallbackBlocks blocks = new FallbackBlocks(new FakeDevice());
        final int before = blocks.length();
        for (int i = 0; i < 1000; i++) {
            blocks.allocate(256, 0);
        }
        final Failures failures = new Failures();
        for (int reset = 0; reset < 10; reset++) {
            blocks.prepareFreeFrom(0, failures);
            blocks.freeFrom(0, failures);
        }
        failures.throwIfAny();
        assertThat(blocks.count()).isZero();
        assertThat(blocks.length()).isEqualTo(before);
    }
}
