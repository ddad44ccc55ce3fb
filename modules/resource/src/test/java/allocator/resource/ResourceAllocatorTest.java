package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.provider.support.UnreturnedMemory;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.ForeignAddressException;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.spi.UnsupportedMemoryException;
import allocator.testkit.FakeStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Nested;
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
        assertThatThrownBy(() -> allocator.free(address + 1)).isInstanceOf(InteriorAddressException.class);
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
        assertThatThrownBy(() -> onHost.segment(64, 1)).isInstanceOf(AllocatorClosedException.class);
    }

    @Test
    void onlyHostAccessibleMemoryHasSegments() {
        assertThat(allocator.as(HostAccessibleAllocator.class)).isEmpty();
        assertThatThrownBy(() -> allocator.segment(0, 0)).isInstanceOf(UnsupportedMemoryException.class);
        try (HostResource host = new HostResource()) {
            var onHost =
                    ResourceAllocator.of(host).as(HostAccessibleAllocator.class).orElseThrow();
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

    /** Blocks whose stream was closed while they were live. */
    @Nested
    class ClosedStreams {
        private final FakeStream stream = new FakeStream(addresses.memory());
        private final long address = allocator.allocOnStream(100, stream);

        private void assertDeallocatedWithoutAStream() {
            assertThat(addresses.blocks()).isZero();
            assertThat(addresses.calls)
                    .filteredOn(("on " + stream.handle())::equals)
                    .hasSize(1);
            assertThat(allocator.stats().bytesHeld()).isZero();
        }

        @Test
        void aBlockIsDeallocatedWithoutAStream() {
            stream.close();
            allocator.free(address);
            assertDeallocatedWithoutAStream();
        }

        @Test
        void anUnreturnedBlockIsDeallocatedWithoutAStream() {
            addresses.before(call -> {
                throw new DeviceException("planted", null);
            });
            stream.close();
            allocator.free(address);
            addresses.before(call -> {});
            allocator.shrink();
            assertDeallocatedWithoutAStream();
        }

        @Test
        void aStreamMayEndDuringTheFree() {
            addresses.before(call -> {
                addresses.before(later -> {});
                stream.close();
                throw new IllegalStateException(stream + " is closed");
            });
            allocator.free(address);
            assertThat(addresses.blocks()).isZero();
            assertThat(allocator.stats().bytesHeld()).isZero();
        }

        @Test
        void aBlockIsUnreturnedWhileTheStreamHasNotEnded() {
            addresses.before(call -> {
                throw new IllegalStateException(stream + " is closed");
            });
            allocator.free(address);
            addresses.before(call -> {});
            assertThat(allocator.stats().bytesInUse()).isZero();
            assertThat(allocator.stats().bytesHeld()).isEqualTo(100);
            assertThat(allocator.as(UnreturnedMemory.class).orElseThrow().unreturnedBytes())
                    .isEqualTo(100);
            assertThat(allocator.shrink()).isEqualTo(new ShrinkReport(100, 0, 0, 0, 0));
            assertThat(addresses.blocks()).isZero();
        }
    }

    @Nested
    class RejectedDeallocations {
        private final long address = allocator.alloc(300);

        private void rejectDeallocations() {
            addresses.before(call -> {
                if (call.equals("deallocate")) {
                    throw new IllegalStateException("planted");
                }
            });
            allocator.free(address);
        }

        @Test
        void aCloseNamesTheBytesAndAnotherCloseTriesAgain() {
            rejectDeallocations();
            assertThatThrownBy(allocator::close)
                    .isInstanceOf(DeviceException.class)
                    .hasMessageContaining("300 bytes");
            addresses.before(call -> {});
            allocator.close();
            assertThat(addresses.blocks()).isZero();
        }

        @Test
        void theMemoryIsOfferedAgainBeforeARequestFails() {
            rejectDeallocations();
            addresses.before(call -> {});
            assertThat(allocator.alloc(1000)).isEqualTo(address);
            assertThat(allocator.stats().numFailedAllocs()).isZero();
        }

        @Test
        void theMemoryCountsAsFreeAlsoWhereTheAllocatorBelowCounts() {
            final ResourceAllocator top = ResourceAllocator.of(new AllocatorResource(allocator));
            rejectDeallocations();
            assertThat(top.stats().bytesInUse()).isZero();
            assertThat(top.stats().bytesHeld()).isEqualTo(300);
        }
    }

    /** Such a block belongs to no caller, so it goes back. */
    @Test
    void anAllocationThatEndsAfterACloseLosesNothing() {
        final PausingResource resource = new PausingResource(200);
        final ResourceAllocator closed = ResourceAllocator.of(resource);
        final CompletableFuture<Long> block = resource.begin(() -> closed.alloc(200));
        closed.close();
        resource.end();
        assertThatThrownBy(block::join).hasCauseInstanceOf(AllocatorClosedException.class);
        assertThat(resource.countDeallocations()).isEqualTo(1);
        assertThat(resource.bytes()).isZero();
    }

    @Test
    void aBlockOnItsWayBackIsHeld() {
        long address = allocator.alloc(300);
        List<AllocatorStats> during = new ArrayList<>();
        addresses.afterFree(() -> during.add(allocator.stats()));
        allocator.free(address);
        assertThat(during).hasSize(1);
        assertThat(during.getFirst().bytesInUse()).isZero();
        assertThat(during.getFirst().bytesHeld()).isEqualTo(300);
        assertThat(allocator.stats().bytesHeld()).isZero();
    }
}
