package allocator.resource.budget;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.provider.support.budget.Budget;
import allocator.resource.AlignedResource;
import allocator.resource.FakeResource;
import allocator.resource.MemoryResource;
import allocator.resource.StackOrderException;
import allocator.spi.DeviceException;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import org.junit.jupiter.api.Test;

class RequestBudgetResourceTest {
    private final FakeResource addresses = new FakeResource(10_000);

    @Test
    void aRequestIsChargedToItsOwnBudgetWhicheverThreadDeallocates() throws Exception {
        RequestBudgetResource resource = new RequestBudgetResource(addresses);
        Budget request = Budget.of("request", 100);
        long address = ScopedValue.where(RequestBudgetResource.CURRENT, request).call(() -> {
            assertThatThrownBy(() -> resource.allocate(101)).isInstanceOf(OutOfMemoryException.class);
            return resource.allocate(60);
        });
        long outside = resource.allocate(500);
        assertThat(request.status().charge()).isEqualTo(60);
        Thread.ofVirtual().start(() -> resource.deallocate(address, 60)).join();
        assertThat(request.status().charge()).isZero();
        resource.deallocate(outside, 500);
        assertThat(addresses.bytes()).isZero();
    }

    @Test
    void theBudgetOfARequestStaysChargedWhenADeallocationIsRejected() {
        RequestBudgetResource resource = new RequestBudgetResource(addresses);
        Budget request = Budget.of("request", 100);
        ScopedValue.where(RequestBudgetResource.CURRENT, request).run(() -> {
            long address = resource.allocate(60);
            assertThatThrownBy(() -> resource.deallocate(address, 61)).isInstanceOf(InvalidSizeException.class);
            assertThat(request.status().charge()).isEqualTo(60);
            resource.deallocate(address, 60);
            assertThat(request.status().charge()).isZero();
        });
    }

    @Test
    void theBudgetOfARequestMustNotBeInATreeThatIsChargedAbove() {
        Budget device = Budget.of("device", 100);
        MemoryResource stack = new BudgetResource(new RequestBudgetResource(addresses), device);
        assertThatThrownBy(() -> ScopedValue.where(RequestBudgetResource.CURRENT, device.child("request", 10))
                        .call(() -> stack.allocate(1)))
                .isInstanceOf(StackOrderException.class)
                .hasMessageContaining("a request would count twice");
        assertThat(device.status().charge()).isZero();
        ScopedValue.where(RequestBudgetResource.CURRENT, Budget.of("request", 10))
                .run(() -> stack.deallocate(stack.allocate(1), 1));
        assertThatThrownBy(() -> new RequestBudgetResource(new AlignedResource(addresses, 512)))
                .isInstanceOf(StackOrderException.class)
                .hasMessageContaining("place Aligned above Budget");
    }

    @Test
    void aFailureOfTheUpstreamReleasesTheBudgetOfTheRequest() {
        Budget request = Budget.of("request", 100_000);
        RequestBudgetResource resource = new RequestBudgetResource(addresses);
        ScopedValue.where(RequestBudgetResource.CURRENT, request).run(() -> {
            assertThatThrownBy(() -> resource.allocate(10_001)).isInstanceOf(OutOfMemoryException.class);
            assertThat(request.status().charge()).isZero();
            long address = resource.allocate(100);
            addresses.before(call -> {
                throw new DeviceException("the driver fails", null);
            });
            assertThatThrownBy(() -> resource.deallocate(address, 100)).isInstanceOf(DeviceException.class);
            assertThat(request.status().charge()).isEqualTo(100);
            addresses.before(call -> {});
            resource.deallocate(address, 100);
            assertThat(request.status().charge()).isZero();
        });
    }
}
