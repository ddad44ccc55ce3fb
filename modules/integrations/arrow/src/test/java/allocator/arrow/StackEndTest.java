package allocator.arrow;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.resource.budget.Budget;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Buffers are allocated at each of the last frames of a thread's stack. What fails there leaves nothing behind. */
class StackEndTest {
    private static final long BYTES = 64;
    private static final int THREADS = 20;
    private static final int FRAMES = 400;

    @RegisterExtension
    private final Opened opened = new Opened();

    @Test
    void losesNoMemory() throws InterruptedException {
        final ArrowMemory memory = opened.memory(ArrowMemory.builder());
        allocateAtTheEnd(memory);
        assertThat(Opened.inUse(memory)).isZero();
    }

    @Test
    void leavesNoChargeAndNoSite() throws InterruptedException {
        final Budget budget = Budget.of("arrow", Opened.MIB);
        final ArrowMemory memory =
                opened.memory(ArrowMemory.builder().budget(budget).trackLeaks());
        allocateAtTheEnd(memory);
        assertThat(Opened.inUse(memory)).isZero();
        assertThat(budget.status().charge()).isZero();
        assertThat(memory.liveBuffers().blocks()).isZero();
    }

    private static void allocateAtTheEnd(ArrowMemory memory) throws InterruptedException {
        final BufferAllocator root = Opened.newRoot(memory);
        root.buffer(BYTES).close();
        int failures = 0;
        for (int i = 0; i < THREADS; i++) {
            final Attempts attempts = new Attempts(memory, root);
            final Thread thread = new Thread(null, attempts::deepen, "stack-end", 300_000 + i * 112);
            thread.start();
            thread.join();
            attempts.allocated.forEach(memory::release);
            failures += FRAMES - attempts.allocated.size();
        }
        assertThat(failures).isPositive();
    }

    /** Allocates on the way back from the end of the stack. */
    private static final class Attempts {
        private final ArrowMemory memory;
        private final BufferAllocator root;
        private final List<HostBuffer> allocated = new ArrayList<>(FRAMES);
        private int left = FRAMES;

        Attempts(ArrowMemory memory, BufferAllocator root) {
            this.memory = memory;
            this.root = root;
        }

        @SuppressWarnings("InfiniteRecursion") // until the stack ends
        void deepen() {
            try {
                deepen();
            } catch (StackOverflowError e) {
                // The frame above is the last one.
            }
            if (left > 0) {
                left--;
                HostBuffer buffer = null;
                try {
                    buffer = (HostBuffer) memory.create(root, BYTES);
                } catch (StackOverflowError e) {
                    // Too deep.
                }
                if (buffer != null) {
                    allocated.add(buffer);
                }
            }
        }
    }
}
