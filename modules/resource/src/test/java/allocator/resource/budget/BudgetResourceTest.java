package allocator.resource.budget;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.provider.support.budget.Budget;
import allocator.resource.AlignedResource;
import allocator.resource.AllocatorResource;
import allocator.resource.FakeResource;
import allocator.resource.FallbackResource;
import allocator.resource.InvalidAlignmentException;
import allocator.resource.MemoryResource;
import allocator.resource.ResourceAllocator;
import allocator.resource.StackOrderException;
import allocator.resource.StatisticsResource;
import allocator.spi.DeviceException;
import allocator.spi.ForeignAddressException;
import allocator.spi.OutOfMemoryException;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class BudgetResourceTest {
    private final FakeResource addresses = new FakeResource(10_000);

    @Test
    void arenasOfOneBudgetShareItsLimitAndReleaseItWhenTheyAreClosed() {
        Budget budget = Budget.of("images", 1000);
        try (Arena first = BudgetResource.arena(budget)) {
            first.allocate(600).fill((byte) 1);
            try (Arena second = BudgetResource.arena(budget)) {
                second.allocate(400, 256).fill((byte) 2);
                assertThatThrownBy(() -> second.allocate(1)).isInstanceOf(OutOfMemoryException.class);
            }
            assertThat(budget.status().charge()).isEqualTo(600);
            assertThat(first.allocate(400).byteSize()).isEqualTo(400);
        }
        assertThat(budget.status().charge()).isZero();
    }

    @Test
    void theLimitIsExactToTheByte() {
        Budget budget = Budget.of("all", 100);
        MemoryResource resource = new BudgetResource(addresses, budget);
        long address = resource.allocate(60);
        resource.allocate(40);
        assertThatThrownBy(() -> resource.allocate(1))
                .isInstanceOfSatisfying(OutOfMemoryException.class, e -> {
                    assertThat(e.shortage().requested()).isEqualTo(1);
                    assertThat(e.shortage().limit()).isEqualTo(100);
                    assertThat(e.shortage().inUse()).isEqualTo(100);
                    assertThat(e.shortage().limitedBy()).isEqualTo("the budget all");
                    assertThat(e.shortage().held()).isEqualTo(OutOfMemoryException.UNKNOWN);
                })
                .hasMessageContaining("The budget all cannot grant 1 bytes");
        resource.deallocate(address, 60);
        resource.allocate(60);
        assertThat(budget.status()).isEqualTo(new Budget.Status("all", 100, 100, 0, 0, 0, 100, 1));
    }

    @Test
    void aFailureOfTheUpstreamReleasesTheCharge() {
        Budget budget = Budget.of("all", 100_000);
        MemoryResource resource = new BudgetResource(addresses, budget);
        assertThatThrownBy(() -> resource.allocate(10_001)).isInstanceOf(OutOfMemoryException.class);
        assertThatThrownBy(() -> resource.allocate(1, 512)).isInstanceOf(InvalidAlignmentException.class);
        assertThat(budget.status().charge()).isZero();
    }

    @Test
    void aDeallocationThatFailsReleasesNothing() {
        Budget budget = Budget.of("all", 100);
        MemoryResource resource = new BudgetResource(addresses, budget);
        long address = resource.allocate(60);
        assertThatThrownBy(() -> resource.deallocate(address + 1, 60)).isInstanceOf(ForeignAddressException.class);
        assertThat(budget.status().charge()).isEqualTo(60);
        addresses.before(call -> {
            throw new DeviceException("the driver fails", null);
        });
        assertThatThrownBy(() -> resource.deallocate(address, 60)).isInstanceOf(DeviceException.class);
        assertThat(budget.status().charge()).isEqualTo(60);
        addresses.before(call -> {});
        resource.deallocate(address, 60);
        assertThat(budget.status().charge()).isZero();
    }

    @Test
    void bytesAreReleasedAfterTheUpstreamHasDeallocated() {
        Budget budget = Budget.of("all", 100);
        List<Long> chargedDuringFree = new ArrayList<>();
        addresses.afterFree(() -> chargedDuringFree.add(budget.status().charge()));
        MemoryResource resource = new BudgetResource(addresses, budget);
        resource.deallocate(resource.allocate(100), 100);
        assertThat(chargedDuringFree).containsExactly(100L);
    }

    @Test
    void aBudgetThatCountsTwiceIsRejected() {
        Budget device = Budget.of("device", 100);
        MemoryResource budgeted = new StatisticsResource(new BudgetResource(addresses, device));
        assertThatThrownBy(() -> new BudgetResource(budgeted, device.child("tenant", 10)))
                .isInstanceOf(StackOrderException.class)
                .hasMessageContaining("count twice");
        var requests = new RequestBudgetResource(budgeted);
        Budget part = device.child("request", 10);
        assertThatThrownBy(() ->
                        ScopedValue.where(RequestBudgetResource.CURRENT, part).call(() -> requests.allocate(1)))
                .isInstanceOf(StackOrderException.class);
        assertThatThrownBy(() -> new RequestBudgetResource(requests)).isInstanceOf(StackOrderException.class);
        assertThatThrownBy(() -> new BudgetResource(new AlignedResource(addresses, 512), Budget.of("other", 1)))
                .isInstanceOf(StackOrderException.class)
                .hasMessageContaining("place Aligned above Budget");
        assertThat(new BudgetResource(budgeted, Budget.of("other", 1)).upstream())
                .isSameAs(budgeted);
    }

    @Test
    void aBudgetThatCountsTwiceIsFoundThroughAllocators() {
        Budget device = Budget.of("device", 100);
        MemoryResource below = new AllocatorResource(ResourceAllocator.of(new BudgetResource(addresses, device)));
        assertThatThrownBy(() -> new BudgetResource(below, device)).isInstanceOf(StackOrderException.class);
        assertThatThrownBy(() -> new BudgetResource(new FallbackResource(addresses, below), device))
                .isInstanceOf(StackOrderException.class);
    }

    @Test
    void aRejectedRequestNamesTheBudgetsAndTheirHolders() {
        Budget server = Budget.of("server", 1000);
        Budget mine = server.child("tenant a", 600);
        Budget other = server.child("tenant b", Budget.UNLIMITED);
        server.child("idle", 10);
        MemoryResource resource = new BudgetResource(addresses, mine);
        resource.allocate(100);
        other.tryCharge(700);
        assertThatThrownBy(() -> resource.allocate(300))
                .isInstanceOfSatisfying(
                        OutOfMemoryException.class, e -> assertThat(e.dump()).isEqualTo("""
                                request of 300 bytes to server/tenant a
                                  server: 800 of 1000 bytes charged, peak 800, 1 rejections, rejected it
                                    tenant a: 100 of 600 bytes charged, peak 100, 0 rejections
                                held below server, the most first:
                                  tenant b: 700 of unlimited bytes charged, peak 700, 0 rejections
                                  tenant a: 100 of 600 bytes charged, peak 100, 0 rejections
                                """));
        other.release(700);
        assertThatThrownBy(() -> resource.allocate(901))
                .isInstanceOfSatisfying(
                        OutOfMemoryException.class,
                        e -> assertThat(e.dump())
                                .contains("tenant a: 100 of 600 bytes charged, peak 100, 1 rejections, rejected it\n"));
    }
}
