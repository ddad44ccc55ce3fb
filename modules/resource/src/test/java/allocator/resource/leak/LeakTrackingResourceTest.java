package allocator.resource.leak;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.resource.FakeResource;
import allocator.resource.MemoryKind;
import allocator.resource.MemoryResource;
import allocator.resource.ResourceDecorator;
import allocator.spi.ForeignAddressException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LeakTrackingResourceTest {
    private final FakeResource addresses = new FakeResource(1L << 40);

    @Nested
    class Records {
        @Test
        void outstandingAllocationsAreReportedBySite() {
            LeakTrackingResource tracked = LeakTrackingResource.full(addresses);
            List<Long> many = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                many.add(tracked.allocate(100));
            }
            tracked.allocate(50);
            tracked.deallocate(many.getFirst(), 100);
            LeakReport report = tracked.report();
            assertThat(report.bytes()).isEqualTo(250);
            assertThat(report.blocks()).isEqualTo(3);
            assertThat(report.sites()).extracting(LeakReport.Site::bytes).containsExactly(200L, 50L);
            assertThat(report.sites().getFirst().frames().getFirst().getMethodName())
                    .isEqualTo("outstandingAllocationsAreReportedBySite");
            assertThat(report.toString()).contains("250 bytes in 3 blocks not deallocated");
        }

        @Test
        void unknownAddressesAndWrongSizesAreRejectedAndStayOutstanding() {
            LeakTrackingResource tracked = LeakTrackingResource.full(addresses);
            long address = tracked.allocate(100);
            assertThatThrownBy(() -> tracked.deallocate(address, 99)).isInstanceOf(InvalidSizeException.class);
            assertThatThrownBy(() -> tracked.deallocate(64, 1)).isInstanceOf(ForeignAddressException.class);
            assertThat(tracked.report().bytes()).isEqualTo(100);
            assertThat(addresses.blocks()).isEqualTo(1);
        }

        @Test
        void aDeallocationThatTheUpstreamRejectsStaysOutstanding() {
            FaultyFree faulty = new FaultyFree(addresses);
            LeakTrackingResource tracked = LeakTrackingResource.full(faulty);
            long address = tracked.allocate(100);
            assertThatThrownBy(() -> tracked.deallocate(address, 100)).isInstanceOf(ForeignAddressException.class);
            assertThat(tracked.report().bytes()).isEqualTo(100);
        }

        @Test
        void anIntervalOfOneRecordsAllAndALargeOneFew() {
            LeakTrackingResource every = LeakTrackingResource.sampled(addresses, 1);
            LeakTrackingResource some = LeakTrackingResource.sampled(new FakeResource(1 << 20), 64);
            long address = every.allocate(100);
            assertThat(every.report().bytes()).isEqualTo(100);
            every.deallocate(address, 100);
            assertThat(every.report().sites()).isEmpty();
            for (int i = 0; i < 1024; i++) {
                some.allocate(1);
            }
            assertThat(some.report().blocks()).isBetween(1L, 100L);
            assertThat(some.report().samplingInterval()).isEqualTo(64);
            assertThatThrownBy(() -> LeakTrackingResource.sampled(addresses, 3))
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Nested
    class Samples {
        /** Returns rising addresses and accepts every deallocation. */
        private final MemoryResource endless = new MemoryResource() {
            private long last;

            @Override
            public MemoryInfo memory() {
                return addresses.memory();
            }

            @Override
            public MemoryKind kind() {
                return MemoryKind.DEVICE;
            }

            @Override
            public long allocate(long byteSize, long byteAlignment) {
                last += 256;
                return last;
            }

            @Override
            public void deallocate(long address, long byteSize, long byteAlignment) {}
        };

        @ParameterizedTest
        @ValueSource(ints = {1, 2, 64, 128, 1024})
        void aSampleHasOneAllocationPerInterval(int interval) {
            LeakTrackingResource tracked = LeakTrackingResource.sampled(endless, interval);
            int blocks = 8 * interval;
            for (int round = 0; round < 100; round++) {
                for (int i = 0; i < blocks; i++) {
                    tracked.allocate(1);
                }
            }
            // 800 are expected; some of them share a place in the table
            assertThat(tracked.report().blocks()).isBetween(600L, 1000L);
        }

        @Test
        void deallocatedBlocksLeaveTheSample() {
            LeakTrackingResource tracked = LeakTrackingResource.sampled(endless, 4);
            List<Long> live = new ArrayList<>();
            for (int i = 0; i < 1000; i++) {
                live.add(tracked.allocate(1));
            }
            assertThat(tracked.report().blocks()).isBetween(100L, 400L);
            live.forEach(address -> tracked.deallocate(address, 1));
            assertThat(tracked.report().blocks()).isZero();
        }

        @Test
        void theTableOfASampleNeverFillsUp() {
            LeakTrackingResource tracked = LeakTrackingResource.sampled(endless, 1);
            for (int i = 0; i < 40_000; i++) {
                tracked.deallocate(tracked.allocate(1), 1);
            }
            for (int i = 0; i < 100; i++) {
                tracked.allocate(1);
            }
            assertThat(tracked.report().blocks()).isGreaterThan(90);
        }

        @Test
        void everyInstanceSelectsOtherAddresses() {
            long different = IntStream.range(0, 20)
                    .mapToObj(i -> LeakTrackingResource.sampled(addresses, 64))
                    .map(tracked -> {
                        List<Long> live = new ArrayList<>();
                        int first = 0;
                        while (tracked.report().blocks() == 0) {
                            live.add(tracked.allocate(1));
                            first++;
                        }
                        live.forEach(address -> tracked.deallocate(address, 1));
                        return first;
                    })
                    .distinct()
                    .count();
            assertThat(different).isGreaterThan(3);
        }

        @Test
        void closeLogsWhatIsOutstandingWithItsSite() {
            Logger logger = Logger.getLogger(LeakTrackingResource.class.getName());
            List<String> messages = new ArrayList<>();
            Handler handler = new Handler() {
                @Override
                public void publish(LogRecord message) {
                    messages.add(message.getLevel() + " " + message.getMessage());
                }

                @Override
                public void flush() {}

                @Override
                public void close() {}
            };
            logger.addHandler(handler);
            logger.setUseParentHandlers(false);
            try {
                LeakTrackingResource tracked = LeakTrackingResource.full(addresses);
                long address = tracked.allocate(100);
                tracked.close();
                tracked.deallocate(address, 100);
                tracked.close();
            } finally {
                logger.removeHandler(handler);
                logger.setUseParentHandlers(true);
            }
            assertThat(messages).hasSize(1);
            assertThat(messages.getFirst())
                    .startsWith("WARNING LeakTracking(addresses): 100 bytes in 1 block not deallocated")
                    .contains("closeLogsWhatIsOutstandingWithItsSite");
        }
    }

    /** Rejects every deallocation. */
    private static final class FaultyFree extends ResourceDecorator {
        FaultyFree(MemoryResource upstream) {
            super(upstream);
        }

        @Override
        protected long doAllocate(
                long byteSize, long byteAlignment, allocator.spi.SyncStream stream, boolean isReserve) {
            return allocateUpstream(byteSize, byteAlignment, stream, isReserve);
        }

        @Override
        protected void doDeallocate(long address, long byteSize, long byteAlignment, allocator.spi.SyncStream stream) {
            throw new ForeignAddressException(address, "injected failure");
        }
    }
}
