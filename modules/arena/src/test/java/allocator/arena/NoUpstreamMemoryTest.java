package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.DeviceException;
import allocator.testkit.FakeDevice;
import java.util.function.LongUnaryOperator;
import org.junit.jupiter.api.Test;

/** An upstream allocator returns address 0, which is no memory. */
class NoUpstreamMemoryTest {
    private final BfcArena arena = new BfcArena(
            new FakeDevice() {
                @Override
                public synchronized long alloc(long byteSize) {
                    return 0;
                }

                @Override
                public synchronized void free(long address) {
                    throw new AssertionError("freed");
                }
            },
            ArenaConfig.DEFAULT);

    private void assertReported(LongUnaryOperator call) {
        assertThatThrownBy(() -> call.applyAsLong(1000))
                .isInstanceOf(DeviceException.class)
                .hasMessageContaining("returned no memory for")
                .hasMessageContaining("A-02");
        assertThat(arena.stats().bytesHeld()).isZero();
    }

    @Test
    void anAllocationReportsIt() {
        assertReported(arena::alloc);
    }

    @Test
    void aReserveReportsIt() {
        assertReported(arena::reserve);
    }
}
