package allocator.resource.budget;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.provider.support.budget.Budget;
import allocator.resource.FakeResource;
import allocator.resource.MemoryResource;
import allocator.spi.OutOfMemoryException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class PressureLadderTest {
    private final FakeResource addresses = new FakeResource(10_000);

    @Test
    void rungsRunInOrderUntilTheRequestFits() {
        Budget budget = Budget.of("all", 100);
        assertThat(budget.tryCharge(100)).isTrue();
        List<String> run = new ArrayList<>();
        PressureLadder ladder = PressureLadder.NONE
                .then("reap", bytes -> {
                    run.add("reap");
                    return 0;
                })
                .then("shrink", bytes -> {
                    run.add("shrink");
                    budget.release(30);
                    return 30;
                })
                .then("call back", bytes -> {
                    run.add("call back");
                    budget.release(30);
                    return 30;
                })
                .then("never", bytes -> {
                    run.add("never");
                    return 0;
                });
        MemoryResource resource = new BudgetResource(addresses, budget, ladder);
        resource.allocate(50);
        assertThat(run).containsExactly("reap", "shrink", "call back");
    }

    @Test
    void theReportListsTheRungs() {
        PressureLadder ladder = PressureLadder.NONE.then("reap", bytes -> 0).then("spill", bytes -> {
            throw new IllegalStateException("no disk");
        });
        Budget budget = Budget.of("all", 100);
        MemoryResource resource = new BudgetResource(addresses, budget, ladder);
        resource.allocate(100);
        assertThatThrownBy(() -> resource.allocate(1))
                .isInstanceOfSatisfying(
                        OutOfMemoryException.class,
                        e -> assertThat(e.dump())
                                .contains("reap: 0 bytes freed in ")
                                .contains("spill: failed with java.lang.IllegalStateException: no disk"));
    }

    @Test
    void aRequestAboveTheLimitIsRejectedWithoutRungs() {
        List<Long> run = new ArrayList<>();
        MemoryResource resource =
                new BudgetResource(addresses, Budget.of("all", 100), PressureLadder.NONE.then("reap", bytes -> {
                    run.add(bytes);
                    return bytes;
                }));
        assertThatThrownBy(() -> resource.allocate(101)).isInstanceOf(OutOfMemoryException.class);
        MemoryResource child = new BudgetResource(
                addresses, Budget.of("device", 100).child("tenant", 1000), PressureLadder.NONE.then("reap", bytes -> {
                    run.add(bytes);
                    return bytes;
                }));
        assertThatThrownBy(() -> child.allocate(101)).isInstanceOf(OutOfMemoryException.class);
        assertThat(run).isEmpty();
    }

    @Test
    void aRetrySucceedsIfAnotherThreadMadeRoom() {
        Budget budget = Budget.of("all", 100);
        assertThat(budget.tryCharge(100)).isTrue();
        MemoryResource resource = new BudgetResource(addresses, budget, PressureLadder.NONE.then("reap", bytes -> {
            budget.release(100); // as another thread would that reaps at the same time
            return 0;
        }));
        resource.deallocate(resource.allocate(50), 50);
    }

    @Test
    void aRequestOfARungRunsNoRungs() {
        Budget budget = Budget.of("all", 100);
        assertThat(budget.tryCharge(100)).isTrue();
        AtomicLong run = new AtomicLong();
        List<MemoryResource> self = new ArrayList<>();
        MemoryResource resource = new BudgetResource(addresses, budget, PressureLadder.NONE.then("spill", bytes -> {
            run.incrementAndGet();
            return self.getFirst().allocate(10);
        }));
        self.add(resource);
        assertThatThrownBy(() -> resource.allocate(1)).isInstanceOf(OutOfMemoryException.class);
        assertThat(run).hasValue(1);
    }
}
