package allocator.arrow;

import static allocator.arrow.Opened.MIB;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class IdleShrinkTest {
    @RegisterExtension
    private final Opened opened = new Opened();

    private final ArrowMemory memory = opened.memory(ArrowMemory.builder());
    private final BufferAllocator root = opened.root(memory);

    @Test
    void returnsAllMemoryAfterABurst() {
        burst();
        assertThat(memory.stats().bytesHeld()).isGreaterThanOrEqualTo(64 * MIB);
        assertThat(memory.shrink().bytesReleased()).isGreaterThanOrEqualTo(64 * MIB);
        assertThat(memory.stats().bytesHeld()).isZero();
    }

    @Test
    void whenIdleReturnsIt() {
        burst();
        IdleShrink.shrinkIfIdle(memory);
        assertThat(memory.stats().bytesHeld()).isZero();
    }

    @Test
    void whenBusyLeavesIt() {
        final ArrowMemory exact = opened.memory(ArrowMemory.builder().option("arena.extend_strategy", "1"));
        final BufferAllocator busy = opened.root(exact);
        try (ArrowBuf live = busy.buffer(40 * MIB)) {
            busy.buffer(16 * MIB).close();
            assertThat(live.capacity()).isGreaterThan(exact.stats().bytesHeld() / 2);
            IdleShrink.shrinkIfIdle(exact);
            assertThat(exact.stats().bytesHeld()).isEqualTo(56 * MIB);
        }
    }

    private void burst() {
        final List<ArrowBuf> buffers = new ArrayList<>();
        for (int i = 0; i < 64; i++) {
            buffers.add(root.buffer(MIB));
        }
        buffers.forEach(ArrowBuf::close);
    }

    @Test
    void happensAtIntervals() throws Exception {
        final ArrowMemory shrinking = opened.memory(ArrowMemory.builder().shrinkEvery(Duration.ofSeconds(1)));
        opened.root(shrinking).buffer(16 * MIB).close();
        while (shrinking.stats().bytesHeld() > 0) {
            Thread.sleep(20);
        }
    }
}
