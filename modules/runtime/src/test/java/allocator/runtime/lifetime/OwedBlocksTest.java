package allocator.runtime.lifetime;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class OwedBlocksTest {
    private final OwedBlocks owed = new OwedBlocks();
    private final List<Long> freed = new ArrayList<>();
    private final List<Long> failing = new ArrayList<>(List.of(1L, 2L, 3L));

    private void free(long address) {
        if (failing.contains(address)) {
            throw new IllegalStateException("the free of " + address + " has no effect");
        }
        freed.add(address);
    }

    private void freeAgain() {
        owed.freeAgain(new Cleanup());
    }

    @Test
    void aBlockThatFailsAgainKeepsNoOtherFromBeingFreed() {
        for (long address = 1; address <= 3; address++) {
            owed.freeAfter(new OwedBlocks.Block(this::free), address, new IllegalStateException("the copy fails"));
        }
        failing.remove(2L);
        freeAgain();
        assertThat(freed).containsExactly(2L);
        failing.clear();
        freeAgain();
        assertThat(freed).containsExactlyInAnyOrder(1L, 2L, 3L);
        freeAgain();
        assertThat(freed).hasSize(3);
    }
}
