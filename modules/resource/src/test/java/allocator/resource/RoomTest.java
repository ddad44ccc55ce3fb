package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.provider.support.budget.Budget;
import allocator.resource.budget.RequestBudgetResource;
import allocator.resource.leak.LeakTrackingResource;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.testkit.HeapUse;
import java.util.function.Consumer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The room that a table makes for a block is given up when there is no block. */
class RoomTest {
    private static final int FAILURES = 8_000;

    /** More than a call takes, and less than a table does that grows to half of the failures. */
    private static final long MUCH_HEAP = 100_000;

    private static final Budget WIDE = Budget.of("wide", Budget.UNLIMITED);
    private static final Budget NARROW = Budget.of("narrow", 1);

    private static final FakeResource FULL = new FakeResource(0) {
        private final OutOfMemoryException failure =
                new OutOfMemoryException("full", Shortage.ofDevice(super.memory(), 2, 0));

        @Override
        public long allocate(long byteSize, long byteAlignment) {
            throw failure;
        }
    };

    /** Requests that something with a table rejects. */
    @SuppressWarnings("ImmutableEnumChecker") // they leave nothing
    enum Request {
        OF_AN_ALLOCATOR(WIDE, ResourceAllocator.of(FULL)::alloc),
        WITH_ITS_CALL_SITE(WIDE, LeakTrackingResource.full(FULL)::allocate),
        WITH_A_BUDGET(WIDE, new RequestBudgetResource(FULL)::allocate),
        ABOVE_ITS_BUDGET(NARROW, new RequestBudgetResource(FULL)::allocate);

        private final Budget budget;
        private final Consumer<Long> call;

        Request(Budget budget, Consumer<Long> call) {
            this.budget = budget;
            this.call = call;
        }

        private void fail() {
            assertThatThrownBy(() -> ScopedValue.where(RequestBudgetResource.CURRENT, budget)
                            .run(() -> call.accept(2L)))
                    .isInstanceOf(OutOfMemoryException.class);
        }
    }

    @ParameterizedTest
    @EnumSource
    void aTableDoesNotGrowWithRequestsThatFail(Request request) {
        request.fail(); // initializes classes
        for (int i = 0; i < FAILURES; i++) {
            final long before = HeapUse.ofThisThread();
            request.fail();
            assertThat(HeapUse.ofThisThread() - before).isLessThan(MUCH_HEAP);
        }
    }
}
