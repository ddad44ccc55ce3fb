package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.ForeignAddressException;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import allocator.testkit.FakeStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
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
        assertThatThrownBy(() -> allocator.returnAgain(1)).isInstanceOf(AllocatorClosedException.class);
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
            assertThatThrownBy(() -> allocator.free(address)).isInstanceOf(DeviceException.class);
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
        void aBlockStaysLiveWhileTheStreamHasNotEnded() {
            addresses.before(call -> {
                throw new IllegalStateException(stream + " is closed");
            });
            assertThatThrownBy(() -> allocator.free(address)).isInstanceOf(IllegalStateException.class);
            addresses.before(call -> {});
            assertThat(allocator.stats().bytesInUse()).isEqualTo(100);
            allocator.free(address);
            assertThat(addresses.blocks()).isZero();
        }
    }

    /** Memory that the resource takes back although it reports a failure, and hands out again. */
    @Nested
    class HandedOutAgain {
        private void failAfterTheNextDeallocation(Runnable first) {
            addresses.afterFree(() -> {
                addresses.afterFree(() -> {});
                first.run();
                throw new DeviceException("planted", null);
            });
        }

        private void assertOnlyLive(long address) {
            assertThat(allocator.stats().bytesInUse()).isEqualTo(100);
            assertThat(allocator.stats().bytesHeld()).isEqualTo(100);
            allocator.shrink();
            assertThat(addresses.blocks()).isEqualTo(1);
            allocator.free(address);
            assertThat(addresses.blocks()).isZero();
            assertThat(allocator.stats().bytesHeld()).isZero();
        }

        @Test
        void itIsUnreturnedNoMore() {
            final long first = allocator.alloc(100);
            failAfterTheNextDeallocation(() -> {});
            assertThatThrownBy(() -> allocator.free(first)).isInstanceOf(DeviceException.class);
            assertThat(allocator.stats().bytesHeld()).isEqualTo(100);
            final long second = allocator.alloc(100);
            assertThat(second).isEqualTo(first);
            assertOnlyLive(second);
        }

        @Test
        void itIsLiveAlsoIfTheFailureIsReportedLater() {
            final List<Long> second = new ArrayList<>();
            final long first = allocator.alloc(100);
            failAfterTheNextDeallocation(() -> second.add(allocator.alloc(100)));
            assertThatThrownBy(() -> allocator.free(first)).isInstanceOf(DeviceException.class);
            assertThat(second).containsExactly(first);
            assertOnlyLive(first);
        }

        @Test
        void itIsNotReturnedOnceMoreIfItWasFreedMeanwhile() {
            final long first = allocator.alloc(100);
            failAfterTheNextDeallocation(() -> {
                allocator.free(allocator.alloc(100));
                assertThat(allocator.stats().bytesHeld()).isZero();
            });
            assertThatThrownBy(() -> allocator.free(first)).isInstanceOf(DeviceException.class);
            assertThat(allocator.stats().bytesHeld()).isZero();
            final int calls = addresses.calls.size();
            allocator.shrink();
            assertThat(addresses.calls).hasSize(calls);
        }
    }

    @Nested
    class UnreturnedMemory {
        private long leaveUnreturned() {
            long address = allocator.alloc(300);
            failNext(new DeviceException("planted", null));
            assertThatThrownBy(() -> allocator.free(address)).isInstanceOf(DeviceException.class);
            return address;
        }

        private void failNext(RuntimeException failure) {
            addresses.before(call -> {
                addresses.before(later -> {});
                throw failure;
            });
        }

        @Test
        void isHeldUntilAReturnSucceeds() {
            long address = leaveUnreturned();
            for (RuntimeException failure :
                    List.of(new DeviceException("planted", null), new IllegalStateException("planted"))) {
                failNext(failure);
                assertThatThrownBy(() -> allocator.returnAgain(address)).isSameAs(failure);
                assertThat(allocator.stats().bytesHeld()).isEqualTo(300);
            }
            assertThat(allocator.returnAgain(address)).isTrue();
            assertThat(allocator.stats().bytesHeld()).isZero();
            assertThat(allocator.returnAgain(address)).isFalse();
        }

        /** The resource has no counters; what is held is what the allocator counts. */
        @Test
        void isReportedByTheShrinkThatReturnsIt() {
            leaveUnreturned();
            assertThat(allocator.shrink()).isEqualTo(new ShrinkReport(300, 0, 0, 0, 0));
            assertThat(allocator.shrink()).isEqualTo(new ShrinkReport(0, 0, 0, 0, 0));
        }

        /** For each allocation only a few steps, where a scan of what is unreturned would take minutes. */
        @Test
        void doesNotSlowAllocationsDown() {
            final FakeResource large = new FakeResource(1L << 40);
            final ResourceAllocator top = ResourceAllocator.of(large);
            large.before(call -> {
                if (call.equals("deallocate")) {
                    throw new DeviceException("planted", null);
                }
            });
            assertTimeoutPreemptively(Duration.ofSeconds(20), () -> {
                for (long block = 1; block <= 200_000; block++) {
                    large.base(block << 12);
                    final long address = top.alloc(100);
                    assertThatThrownBy(() -> top.free(address)).isInstanceOf(DeviceException.class);
                }
            });
            assertThat(top.stats().bytesHeld()).isEqualTo(20_000_000);
        }

        @Test
        void isNotTheLiveBlockThatStartsThereNow() {
            long address = leaveUnreturned();
            allocator.shrink();
            assertThat(allocator.alloc(300)).isEqualTo(address);
            assertThat(allocator.returnAgain(address)).isFalse();
            assertThat(allocator.stats().bytesInUse()).isEqualTo(300);
        }

        @Test
        void wasReturnedIfTheAllocatorBelowHasTakenItBack() {
            long address = leaveUnreturned();
            failNext(new TakenBackException(new DeviceException("planted", null)));
            assertThat(allocator.returnAgain(address)).isTrue();
            assertThat(allocator.stats().bytesHeld()).isZero();
        }
    }

    /** Counters that are read while other calls are under way. */
    @Nested
    class Statistics {
        /** Another block is allocated while one is on its way back, and then the resource throws. */
        private AllocatorStats afterAFreeThatThrows(RuntimeException failure) {
            long address = allocator.alloc(300);
            addresses.before(call -> {
                addresses.before(later -> {});
                allocator.alloc(400);
                throw failure;
            });
            assertThatThrownBy(() -> allocator.free(address)).isSameAs(failure);
            return allocator.stats();
        }

        @Test
        void aBlockThatIsLiveAgainRaisesThePeak() {
            AllocatorStats stats = afterAFreeThatThrows(new IllegalStateException("planted"));
            assertThat(stats.bytesInUse()).isEqualTo(700);
            assertThat(stats.peakBytesInUse()).isEqualTo(700);
            assertThat(stats.bytesHeld()).isEqualTo(700);
            assertThat(stats.peakBytesHeld()).isEqualTo(700);
        }

        @Test
        void aBlockThatIsNotReturnedIsHeldAllTheTime() {
            AllocatorStats stats = afterAFreeThatThrows(new DeviceException("planted", null));
            assertThat(stats.bytesInUse()).isEqualTo(400);
            assertThat(stats.bytesHeld()).isEqualTo(700);
            assertThat(stats.peakBytesHeld()).isEqualTo(700);
            allocator.shrink();
            assertThat(allocator.stats().bytesHeld()).isEqualTo(400);
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

    /** The same over an allocator that counts itself. */
    @Nested
    class StatisticsOfTheAllocatorBelow {
        private final HookedStats hooked = new HookedStats(new AllocatorResource(allocator));
        private final FaultyFrees faulty = new FaultyFrees(hooked);
        private final ResourceAllocator top = ResourceAllocator.of(faulty);

        /** The first deallocation fails. */
        private static final class FaultyFrees extends ResourceDecorator {
            private boolean hasFailed;

            FaultyFrees(MemoryResource upstream) {
                super(upstream);
            }

            @Override
            protected long doAllocate(long byteSize, long byteAlignment, @Nullable SyncStream stream) {
                return allocateUpstream(byteSize, byteAlignment, stream);
            }

            @Override
            protected void doDeallocate(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
                if (!hasFailed) {
                    hasFailed = true;
                    throw new DeviceException("planted", null);
                }
                deallocateUpstream(address, byteSize, byteAlignment, stream);
            }
        }

        private void allocateAndFailToFree() {
            long address = top.alloc(300);
            assertThatThrownBy(() -> top.free(address)).isInstanceOf(DeviceException.class);
        }

        private void assertUse(AllocatorStats stats, long bytesInUse, long freeBytes) {
            assertThat(stats.bytesInUse()).isEqualTo(bytesInUse);
            assertThat(stats.requestedBytesInUse()).isEqualTo(bytesInUse);
            assertThat(stats.freeBytes()).isEqualTo(freeBytes);
        }

        @Test
        void aBlockThatDiesAfterTheReadingBelowIsNotSubtractedFromIt() {
            hooked.after = this::allocateAndFailToFree;
            assertUse(top.stats(), 0, 300);
        }

        @Test
        void aBlockThatIsReturnedBeforeTheReadingBelowIsNotSubtractedFromIt() {
            allocateAndFailToFree();
            hooked.before = top::shrink;
            assertUse(top.stats(), 0, 0);
        }

        @Test
        void aRequestThatFailsMeanwhileCountsOnce() {
            hooked.before = () -> assertThatThrownBy(() -> top.alloc(2000)).isInstanceOf(OutOfMemoryException.class);
            assertThat(top.stats().numFailedAllocs()).isEqualTo(1);
            hooked.after = () -> assertThatThrownBy(() -> top.alloc(2000)).isInstanceOf(OutOfMemoryException.class);
            assertThat(top.stats().numFailedAllocs()).isEqualTo(2);
        }
    }
}
