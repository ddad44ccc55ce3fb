package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.AllocatorClosedException;
import allocator.spi.ForeignAddressException;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeStream;
import org.junit.jupiter.api.Test;

class ResourceAllocatorTest {
    private final FakeResource addresses = new FakeResource(1000);
    private final ResourceAllocator allocator = ResourceAllocator.of(addresses);

    @Test
    void aFreePassesTheSizeOfTheAllocation() {
        long address = allocator.alloc(100);
        allocator.free(address);
        assertThat(addresses.calls).containsExactly("allocate 100 aligned 256", "deallocate 100 aligned 256");
    }

    @Test
    void aFreePassesTheStreamOfTheAllocation() {
        FakeStream stream = new FakeStream(addresses.memory());
        allocator.free(allocator.allocOnStream(100, stream));
        assertThat(addresses.calls)
                .containsExactly(
                        "on " + stream.handle(),
                        "allocate 100 aligned 256",
                        "on " + stream.handle(),
                        "deallocate 100 aligned 256");
    }

    @Test
    void invalidFreesAreRejectedAndChangeNothing() {
        long address = allocator.alloc(100);
        assertThatThrownBy(() -> allocator.free(address + 1)).isInstanceOf(ForeignAddressException.class);
        allocator.free(address);
        assertThatThrownBy(() -> allocator.free(address)).isInstanceOf(ForeignAddressException.class);
        assertThat(addresses.bytes()).isZero();
    }

    @Test
    void statisticsCountWhatIsLive() {
        long address = allocator.alloc(600);
        assertThatThrownBy(() -> allocator.alloc(600)).isInstanceOf(OutOfMemoryException.class);
        var full = allocator.stats();
        allocator.free(address);
        assertThat(full.bytesInUse()).isEqualTo(600);
        assertThat(full.numFailedAllocs()).isEqualTo(1);
        assertThat(allocator.stats().bytesInUse()).isZero();
        assertThat(allocator.stats().peakBytesInUse()).isEqualTo(600);
    }

    @Test
    void everyCallAfterCloseIsRejected() {
        allocator.close();
        assertThatThrownBy(() -> allocator.alloc(1)).isInstanceOf(AllocatorClosedException.class);
        assertThatThrownBy(() -> allocator.free(1)).isInstanceOf(AllocatorClosedException.class);
        assertThatThrownBy(allocator::stats).isInstanceOf(AllocatorClosedException.class);
        ResourceAllocator onHost = ResourceAllocator.of(new HostResource());
        onHost.close();
        assertThatThrownBy(() -> ((HostAccessibleAllocator) onHost).segment(64, 1))
                .isInstanceOf(AllocatorClosedException.class);
    }

    @Test
    void onlyHostAccessibleMemoryHasSegments() {
        assertThat(allocator).isNotInstanceOf(HostAccessibleAllocator.class);
        try (HostResource host = new HostResource()) {
            var onHost = (HostAccessibleAllocator) ResourceAllocator.of(host);
            long address = onHost.alloc(16);
            assertThat(onHost.segment(address, 16).byteSize()).isEqualTo(16);
            assertThat(onHost.segment(0, 0).byteSize()).isZero();
            assertThatThrownBy(() -> onHost.segment(0, 1)).isInstanceOf(InvalidSizeException.class);
            onHost.free(address);
        }
    }

    @Test
    void aStreamBoundResourceIsRejected() {
        var bound = new StreamBoundResource(addresses, new FakeStream(addresses.memory()));
        assertThatThrownBy(() -> ResourceAllocator.of(bound)).isInstanceOf(StackOrderException.class);
    }
}
