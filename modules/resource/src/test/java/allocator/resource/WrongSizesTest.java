package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.provider.support.budget.Budget;
import allocator.resource.budget.BudgetResource;
import allocator.resource.budget.RequestBudgetResource;
import allocator.spi.Allocator;
import allocator.spi.InvalidSizeException;
import allocator.testkit.FakeStream;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Deallocations with a wrong size above an allocator, which is not given sizes: rejected as a whole or not at all. */
class WrongSizesTest {
    private final FakeResource addresses = new FakeResource(10_000);
    private final Allocator allocator = ResourceAllocator.of(addresses);
    private final AllocatorResource bottom = new AllocatorResource(allocator);
    private final Budget budget = Budget.of("all", 1000);

    @Test
    void moreThanIsChargedIsRejectedBeforeTheBlockIsFreed() {
        MemoryResource resource = new BudgetResource(bottom, budget);
        long one = resource.allocate(100);
        assertThatThrownBy(() -> resource.deallocate(one, 101))
                .isInstanceOf(InvalidSizeException.class)
                .hasMessageContaining("only 100 bytes are charged");
        assertThat(addresses.bytes()).isEqualTo(100);
        assertThat(budget.status().charge()).isEqualTo(100);
        resource.deallocate(one, 100);
        assertThat(addresses.bytes()).isZero();
        assertThat(budget.status().charge()).isZero();
    }

    @Test
    void theChargesOfAnotherResourceAreNotReleased() {
        MemoryResource resource = new BudgetResource(bottom, budget);
        MemoryResource other = new BudgetResource(bottom, budget);
        long one = resource.allocate(100);
        other.allocate(100);
        assertThatThrownBy(() -> resource.deallocate(one, 200)).isInstanceOf(InvalidSizeException.class);
        assertThat(addresses.bytes()).isEqualTo(200);
        assertThat(budget.status().charge()).isEqualTo(200);
    }

    @Test
    void aChargeThatOtherCodeHasReleasedDoesNotFailTheDeallocation() {
        MemoryResource resource = new BudgetResource(bottom, budget);
        long one = resource.allocate(100);
        budget.release(50);
        resource.deallocate(one, 100);
        assertThat(addresses.bytes()).isZero();
    }

    @Test
    void negativeSizesAreRejectedBeforeAnyEffect() {
        for (MemoryResource resource :
                List.of(bottom, new BudgetResource(bottom, budget), new StatisticsResource(bottom))) {
            long address = resource.allocate(100);
            assertThatThrownBy(() -> resource.deallocate(address, -100)).isInstanceOf(InvalidSizeException.class);
            assertThat(addresses.bytes()).isEqualTo(100);
            resource.deallocate(address, 100);
        }
        assertThat(budget.status().charge()).isZero();
    }

    @Test
    void theBudgetOfARequestKnowsTheSize() {
        MemoryResource resource = new RequestBudgetResource(bottom);
        Budget request = Budget.of("request", 1000);
        ScopedValue.where(RequestBudgetResource.CURRENT, request).run(() -> {
            long one = resource.allocate(100);
            long two = resource.allocate(100);
            assertThatThrownBy(() -> resource.deallocate(one, 200)).isInstanceOf(InvalidSizeException.class);
            assertThat(request.status().charge()).isEqualTo(200);
            resource.deallocate(one, 100);
            resource.deallocate(two, 100);
        });
        assertThat(request.status().charge()).isZero();
        assertThat(addresses.bytes()).isZero();
    }

    @Test
    void theSizeOfABlockAllocatedOnAStreamIsChecked() {
        FakeStream stream = new FakeStream(addresses.memory());
        long address = bottom.allocate(100, 64, stream);
        assertThatThrownBy(() -> bottom.deallocate(address, 200, 64, stream)).isInstanceOf(InvalidSizeException.class);
        assertThat(addresses.bytes()).isEqualTo(100);
        bottom.deallocate(address, 100, 64, stream);
        assertThat(addresses.bytes()).isZero();
    }

    @Test
    void aFallbackChecksTheSizesOfItsSecond() {
        MemoryResource resource = new FallbackResource(new FakeResource(0), bottom);
        long address = resource.allocate(100);
        assertThatThrownBy(() -> resource.deallocate(address, 200)).isInstanceOf(InvalidSizeException.class);
        assertThat(addresses.bytes()).isEqualTo(100);
        resource.deallocate(address, 100);
        assertThat(addresses.bytes()).isZero();
    }
}
