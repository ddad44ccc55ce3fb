package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.resource.budget.Budget;
import allocator.resource.budget.BudgetResource;
import allocator.resource.budget.RequestBudgetResource;
import allocator.resource.leak.LeakTrackingResource;
import allocator.spi.MemoryInfo;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Calls at every distance from the end of a thread's stack: what overflows has changed nothing, and no lock stays. */
class StackEndTest {
    private static final long STACK_BYTES = 512 << 10;
    private static final int ROUNDS = 60;

    /** Calls in each round, each a frame farther from the end. */
    private static final int CALLS = 60;

    /** A source whose calls call nothing, so that each fails as a whole or not at all. */
    private static final class Flat implements MemoryResource {
        private static final MemoryInfo MEMORY = new FakeResource(0).memory();

        private long live;
        private long next;

        @Override
        public MemoryInfo memory() {
            return MEMORY;
        }

        @Override
        public MemoryKind kind() {
            return MemoryKind.DEVICE;
        }

        @Override
        public long allocate(long byteSize, long byteAlignment) {
            live++;
            next += 4096;
            return next;
        }

        @Override
        public void deallocate(long address, long byteSize, long byteAlignment) {
            live--;
        }
    }

    private final Flat source = new Flat();
    private final Budget budget = Budget.of("all", Budget.UNLIMITED).child("one", Budget.UNLIMITED);
    private final Budget request = Budget.of("request", Budget.UNLIMITED);
    private final StatisticsResource counted = new StatisticsResource(source);
    private final LeakTrackingResource tracked = LeakTrackingResource.full(counted);
    private final MemoryResource top =
            new AlignedResource(new RequestBudgetResource(new BudgetResource(tracked, budget)), 1024);
    private final ResourceAllocator allocator = ResourceAllocator.of(top);
    private final long[] left = new long[ROUNDS * CALLS];
    private int leftCount;
    private int calls;
    private int overflows;

    @Test
    void aCallThatOverflowsChangesNothing() throws InterruptedException {
        final AtomicReference<Throwable> failure = new AtomicReference<>();
        final Thread thread = new Thread(
                null,
                () -> ScopedValue.where(RequestBudgetResource.CURRENT, request).run(this::rounds),
                "shallow",
                STACK_BYTES);
        thread.setUncaughtExceptionHandler((dead, e) -> failure.set(e));
        thread.start();
        thread.join(60_000);
        assertThat(thread.isAlive()).as("hangs").isFalse();
        assertThat(failure.get()).isNull();
        assertThat(overflows).isGreaterThan(100);
        ScopedValue.where(RequestBudgetResource.CURRENT, request).run(() -> {
            for (int i = 0; i < leftCount; i++) {
                allocator.free(left[i]);
            }
        });
        allocator.shrink();
        assertThat(source.live).isZero();
        assertThat(budget.status().charge()).isZero();
        assertThat(request.status().charge()).isZero();
        assertThat(counted.statistics().blocks()).isZero();
        assertThat(tracked.report().blocks()).isZero();
        assertThat(allocator.stats().bytesHeld()).isZero();
    }

    private void rounds() {
        for (int round = 0; round < ROUNDS; round++) {
            calls = 0;
            descend();
        }
    }

    /** Goes to the end of the stack, and calls on the way back. */
    @SuppressWarnings("InfiniteRecursion") // until the stack ends
    private void descend() {
        try {
            descend();
        } catch (StackOverflowError e) {
            // The end, or the end of a call.
        }
        if (calls < CALLS) {
            calls++;
            allocateAndFree();
        }
    }

    /** A free that overflows is repeated later: the block is live still, or its memory unreturned. */
    private void allocateAndFree() {
        long address = 0;
        try {
            address = allocator.alloc(100);
            allocator.free(address);
        } catch (StackOverflowError e) {
            overflows++;
            if (address != 0) {
                left[leftCount++] = address;
            }
        }
    }
}
