package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.provider.support.budget.Budget;
import allocator.resource.budget.BudgetResource;
import allocator.spi.Allocator;
import allocator.spi.ForeignAddressException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import allocator.testkit.FakeStream;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class AllocatorResourceTest {
    private final FakeResource addresses = new FakeResource(1000);

    /** Binds memory to the stream of its allocation, as an arena does. */
    private final class BindingAllocator implements StreamAwareAllocator {
        private final List<Long> freed = new ArrayList<>();
        private boolean rejectsFrees;
        private boolean isOrderedByDevice;
        private int spiLevel = SpiLevel.STREAMS;

        @Override
        public long allocOnStream(long byteSize, SyncStream stream) {
            return 0x1000;
        }

        @Override
        public long alloc(long byteSize) {
            return 0x2000;
        }

        @Override
        public void free(long address) {
            if (rejectsFrees) {
                throw new ForeignAddressException(address, "injected failure");
            }
            freed.add(address);
        }

        @Override
        public MemoryInfo info() {
            return addresses.memory();
        }

        @Override
        public boolean isOrderedByDevice() {
            return isOrderedByDevice;
        }

        @Override
        public int spiLevel() {
            return spiLevel;
        }
    }

    private final BindingAllocator binding = new BindingAllocator();
    private final AllocatorResource resource = new AllocatorResource(binding);
    private final FakeStream one = new FakeStream(addresses.memory());
    private final FakeStream other = new FakeStream(addresses.memory());

    @Test
    void freeingOnTheSameStreamWaitsForNothing() {
        long address = resource.allocate(8, 8, one);
        resource.deallocate(address, 8, 8, one);
        assertThat(binding.freed).containsExactly(0x1000L);
        assertThat(one.waits() + one.flushes()).isZero();
    }

    @Test
    void freeingOnAnotherStreamMakesTheStreamOfTheAllocationWait() {
        long address = resource.allocate(8, 8, one);
        resource.deallocate(address, 8, 8, other);
        assertThat(one.waits()).isEqualTo(1);
        assertThat(one.lastWaitedSyncId(other)).isEqualTo(1);
        assertThat(other.flushes()).isZero();
    }

    @Test
    void aStreamOfTheAllocationThatHasEndedDoesNotWait() {
        long address = resource.allocate(8, 8, one);
        one.close();
        resource.deallocate(address, 8, 8, other);
        assertThat(binding.freed).containsExactly(0x1000L);
        assertThat(one.waits()).isZero();
        assertThat(other.flushes()).isEqualTo(1);
    }

    @Test
    void aStreamOfTheAllocationMayEndDuringTheDeallocation() {
        long address = resource.allocate(8, 8, one);
        other.before(operation -> {
            if (operation.equals("enqueueWait")) {
                one.close();
                throw new IllegalStateException(one + " is closed");
            }
        });
        resource.deallocate(address, 8, 8, other);
        assertThat(binding.freed).containsExactly(0x1000L);
        assertThat(other.flushes()).isEqualTo(1);
    }

    @Test
    void bothStreamsMayHaveEnded() {
        long address = resource.allocate(8, 8, one);
        one.close();
        other.close();
        resource.deallocate(address, 8, 8, other);
        assertThat(binding.freed).containsExactly(0x1000L);
    }

    @Test
    void aRejectedDeallocationKeepsTheStream() {
        long address = resource.allocate(8, 8, one);
        binding.rejectsFrees = true;
        assertThatThrownBy(() -> resource.deallocate(address, 8, 8, one)).isInstanceOf(ForeignAddressException.class);
        binding.rejectsFrees = false;
        resource.deallocate(address, 8, 8, one);
        assertThat(one.flushes()).isZero();
    }

    @Test
    void memoryAllocatedWithoutAStreamWaitsForTheStreamOfTheFree() {
        long address = resource.allocate(8, 8);
        resource.deallocate(address, 8, 8, one);
        assertThat(one.flushes()).isEqualTo(1);
    }

    @Test
    void moreAlignmentThanTheAllocatorSupportsIsRejected() {
        assertThatThrownBy(() -> resource.allocate(8, 512))
                .isInstanceOf(InvalidAlignmentException.class)
                .hasMessageContaining("more than the 256 that");
    }

    @Test
    void everyStackReportsWhetherTheDeviceOrdersTheMemory() {
        Budget budget = Budget.of("tenant", 150);
        MemoryResource stack = new BudgetResource(new StatisticsResource(resource), budget);
        for (boolean isOrderedByDevice : List.of(false, true)) {
            binding.isOrderedByDevice = isOrderedByDevice;
            for (MemoryResource top : List.of(
                    resource,
                    stack,
                    new FallbackResource(stack, addresses),
                    new FallbackResource(addresses, stack),
                    new AllocatorResource(ResourceAllocator.of(stack)))) {
                assertThat(top.isOrderedByDevice()).as("%s", top).isEqualTo(isOrderedByDevice);
                assertThat(ResourceAllocator.of(top).isOrderedByDevice())
                        .as("%s", top)
                        .isEqualTo(isOrderedByDevice);
            }
            var bound = new StreamBoundResource(resource, one);
            assertThat(new StatisticsResource(bound).isOrderedByDevice()).isEqualTo(isOrderedByDevice);
        }
    }

    @Test
    void anAllocatorBelowTheStreamLevelIsNotOrderedByTheDevice() {
        binding.isOrderedByDevice = true;
        binding.spiLevel = SpiLevel.STREAMS - 1;
        assertThat(new AllocatorResource(binding).isOrderedByDevice()).isFalse();
    }

    @Test
    void aStackOnAnAllocatorServesAsAnAllocator() {
        Budget budget = Budget.of("tenant", 150);
        Allocator stacked = ResourceAllocator.of(
                new BudgetResource(new StatisticsResource(new AllocatorResource(binding)), budget));
        long address = stacked.alloc(100);
        assertThatThrownBy(() -> stacked.alloc(51)).isInstanceOf(OutOfMemoryException.class);
        stacked.free(address);
        assertThat(budget.status().charge()).isZero();
    }
}
