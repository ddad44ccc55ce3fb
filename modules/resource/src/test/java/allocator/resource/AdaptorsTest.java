package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.ForeignAddressException;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class AdaptorsTest {
    private final AddressesResource addresses = new AddressesResource(1000);

    @Nested
    class ResourceAsAllocator {
        private final ResourceAllocator allocator = ResourceAllocator.of(addresses);

        @Test
        void aFreeFindsTheSizeAgain() {
            long address = allocator.alloc(100);
            allocator.free(address);
            assertThat(addresses.calls).containsExactly("allocate 100 aligned 256", "deallocate 100 aligned 256");
        }

        @Test
        void aFreeFindsTheStreamAgain() {
            CountingStream stream = new CountingStream(addresses.memory());
            allocator.free(allocator.allocOnStream(100, stream));
            assertThat(addresses.calls)
                    .containsExactly(
                            "on " + stream.handle(),
                            "allocate 100 aligned 256",
                            "on " + stream.handle(),
                            "deallocate 100 aligned 256");
        }

        @Test
        void badFreesAreRefusedAndChangeNothing() {
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
        void afterCloseEverythingIsRefused() {
            allocator.close();
            assertThatThrownBy(() -> allocator.alloc(1)).isInstanceOf(AllocatorClosedException.class);
            assertThatThrownBy(() -> allocator.free(1)).isInstanceOf(AllocatorClosedException.class);
            assertThatThrownBy(allocator::stats).isInstanceOf(AllocatorClosedException.class);
        }

        @Test
        void onlyHostReachableMemoryIsSeenAsASegment() {
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
        void aResourceOfOneStreamCannotServeAll() {
            var bound = new StreamBoundResource(addresses, new CountingStream(addresses.memory()));
            assertThatThrownBy(() -> ResourceAllocator.of(bound)).isInstanceOf(StackOrderException.class);
        }
    }

    @Nested
    class AllocatorAsResource {
        /** Ties memory to the stream of its allocation, as an arena does. */
        private final class Tying implements StreamAwareAllocator {
            private final List<Long> freed = new ArrayList<>();
            private boolean refusesFrees;
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
                if (refusesFrees) {
                    throw new ForeignAddressException(address, "refused on purpose");
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

        private final Tying tying = new Tying();
        private final AllocatorResource resource = new AllocatorResource(tying);
        private final CountingStream one = new CountingStream(addresses.memory());
        private final CountingStream other = new CountingStream(addresses.memory());

        @Test
        void freeingOnTheSameStreamWaitsForNothing() {
            long address = resource.allocate(8, 8, one);
            resource.deallocate(address, 8, 8, one);
            assertThat(tying.freed).containsExactly(0x1000L);
            assertThat(one.waits + one.flushes).isZero();
        }

        @Test
        void freeingOnAnotherStreamOrdersTheAllocationsStreamBehindIt() {
            long address = resource.allocate(8, 8, one);
            resource.deallocate(address, 8, 8, other);
            assertThat(one.waits).isEqualTo(1);
            assertThat(one.lastWaitedSyncId(other)).isEqualTo(1);
            assertThat(other.flushes).isZero();
        }

        @Test
        void aRefusedDeallocationKeepsTheStream() {
            long address = resource.allocate(8, 8, one);
            tying.refusesFrees = true;
            assertThatThrownBy(() -> resource.deallocate(address, 8, 8, one))
                    .isInstanceOf(ForeignAddressException.class);
            tying.refusesFrees = false;
            resource.deallocate(address, 8, 8, one);
            assertThat(one.flushes).isZero();
        }

        @Test
        void whatWasAllocatedWithoutAStreamWaitsForTheStreamOfTheFree() {
            long address = resource.allocate(8, 8);
            resource.deallocate(address, 8, 8, one);
            assertThat(one.flushes).isEqualTo(1);
        }

        @Test
        void moreAlignmentThanTheAllocatorGivesIsRefused() {
            assertThatThrownBy(() -> resource.allocate(8, 512))
                    .isInstanceOf(InvalidAlignmentException.class)
                    .hasMessageContaining("more than the 256");
        }

        @Test
        void everyStackTellsWhetherTheDeviceOrdersTheMemory() {
            Budget budget = Budget.of("tenant", 150);
            MemoryResource stack = new BudgetResource(new StatisticsResource(resource), budget);
            for (boolean isOrderedByDevice : List.of(false, true)) {
                tying.isOrderedByDevice = isOrderedByDevice;
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
        void anAllocatorThatIsNotAskedForStreamsHasNoOrderOfTheDevice() {
            tying.isOrderedByDevice = true;
            tying.spiLevel = SpiLevel.STREAMS - 1;
            assertThat(new AllocatorResource(tying).isOrderedByDevice()).isFalse();
        }

        @Test
        void aStackCanStandOnAnAllocatorAndServeASession() {
            Budget budget = Budget.of("tenant", 150);
            Allocator stacked = ResourceAllocator.of(
                    new BudgetResource(new StatisticsResource(new AllocatorResource(tying)), budget));
            long address = stacked.alloc(100);
            assertThatThrownBy(() -> stacked.alloc(51)).isInstanceOf(OutOfMemoryException.class);
            stacked.free(address);
            assertThat(budget.status().charge()).isZero();
        }
    }

    @Nested
    class ResourceAsArena {
        @Test
        void closingGivesEverythingBack() {
            try (HostResource host = new HostResource()) {
                StatisticsResource counted = new StatisticsResource(host);
                MemorySegment segment;
                try (ResourceArena arena = ResourceArena.ofConfined(counted)) {
                    segment = arena.allocateFrom(ValueLayout.JAVA_LONG, 42);
                    arena.allocateFrom("text");
                    assertThat(segment.get(ValueLayout.JAVA_LONG, 0)).isEqualTo(42);
                    assertThat(counted.statistics().blocks()).isEqualTo(2);
                    assertThat(arena.allocate(0).byteSize()).isZero();
                }
                assertThat(counted.statistics().blocks()).isZero();
                assertThatThrownBy(() -> segment.get(ValueLayout.JAVA_LONG, 0))
                        .isInstanceOf(IllegalStateException.class);
            }
        }

        @Test
        void anAllocationAfterCloseLeavesNothingBehind() {
            try (HostResource host = new HostResource()) {
                StatisticsResource counted = new StatisticsResource(host);
                ResourceArena arena = ResourceArena.ofShared(counted);
                arena.close();
                assertThatThrownBy(() -> arena.allocate(8)).isInstanceOf(IllegalStateException.class);
                assertThat(counted.statistics().blocks()).isZero();
            }
        }

        @Test
        void memoryThatTheHostCannotReachIsRefused() {
            assertThatThrownBy(() -> ResourceArena.ofShared(addresses)).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Nested
    class TypedAllocators {
        @Test
        void elementsAreCountedInTheirLayout() {
            var ints = new PolymorphicAllocator<>(addresses, ValueLayout.JAVA_INT);
            ints.deallocate(ints.allocate(10), 10);
            var longs = ints.with(ValueLayout.JAVA_LONG);
            longs.deallocate(longs.allocate(10), 10);
            assertThat(addresses.calls)
                    .containsExactly(
                            "allocate 40 aligned 4",
                            "deallocate 40 aligned 4",
                            "allocate 80 aligned 8",
                            "deallocate 80 aligned 8");
        }

        @Test
        void aCountWhoseBytesOverflowIsRefused() {
            var longs = new PolymorphicAllocator<>(addresses, ValueLayout.JAVA_LONG);
            assertThatThrownBy(() -> longs.allocate(Long.MAX_VALUE / 8 + 1)).isInstanceOf(InvalidSizeException.class);
            long eightBytesWhenItOverflows = (1L << 61) + 1;
            assertThatThrownBy(() -> longs.allocate(eightBytesWhenItOverflows))
                    .isInstanceOf(InvalidSizeException.class);
            assertThatThrownBy(() -> longs.allocate(-1)).isInstanceOf(InvalidSizeException.class);
        }

        @Test
        void equalityIsThatOfTheResource() {
            var ints = new PolymorphicAllocator<>(addresses, ValueLayout.JAVA_INT);
            assertThat(ints).isEqualTo(new PolymorphicAllocator<>(addresses, ValueLayout.JAVA_INT));
            assertThat(ints).isNotEqualTo(new PolymorphicAllocator<>(new AddressesResource(1), ValueLayout.JAVA_INT));
        }

        @Test
        void aStreamOrderedAllocatorNamesItsStreamInEveryCall() {
            CountingStream stream = new CountingStream(addresses.memory());
            var floats = new StreamOrderedAllocator<>(addresses, ValueLayout.JAVA_FLOAT, stream);
            floats.deallocate(floats.allocate(5), 5);
            assertThat(addresses.calls)
                    .containsExactly(
                            "on " + stream.handle(),
                            "allocate 20 aligned 4",
                            "on " + stream.handle(),
                            "deallocate 20 aligned 4");
        }
    }

    @Nested
    class BoundToAStream {
        private final CountingStream stream = new CountingStream(addresses.memory());
        private final StreamBoundResource bound = new StreamBoundResource(addresses, stream);

        @Test
        void everyCallIsOnTheStream() {
            bound.deallocate(bound.allocate(100), 100);
            assertThat(addresses.calls)
                    .filteredOn(("on " + stream.handle())::equals)
                    .hasSize(2);
            assertThat(bound.context()).isEqualTo(new MemoryContext.StreamBound(stream));
        }

        @Test
        void aDecoratorKeepsTheContextAndRefusesOtherStreams() {
            StatisticsResource counted = new StatisticsResource(bound);
            assertThat(counted.context()).isEqualTo(bound.context());
            CountingStream other = new CountingStream(addresses.memory());
            assertThatThrownBy(() -> counted.allocate(8, 8, other)).isInstanceOf(IllegalArgumentException.class);
            counted.deallocate(counted.allocate(8, 8, stream), 8, 8, stream);
            assertThat(stream.flushes).isZero();
        }

        @Test
        void bindingTwiceIsRefused() {
            assertThatThrownBy(() -> new StreamBoundResource(new StatisticsResource(bound), stream))
                    .isInstanceOf(StackOrderException.class);
        }
    }
}
