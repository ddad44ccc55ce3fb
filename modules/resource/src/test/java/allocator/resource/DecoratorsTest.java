package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.resource.FaultInjectionResource.FaultPlan;
import allocator.spi.DeviceException;
import allocator.spi.ForeignAddressException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DecoratorsTest {
    private static final long MIB = 1 << 20;

    private final AddressesResource addresses = new AddressesResource(1L << 40);

    @Nested
    class Statistics {
        private final StatisticsResource counted = new StatisticsResource(addresses);

        @Test
        void peaksOutliveTheirBlocks() {
            assertThat(counted.statistics()).isEqualTo(new ResourceStatistics(0, 0, 0, 0, 0, 0));
            long one = counted.allocate(10 * MIB);
            long two = counted.allocate(5 * MIB);
            counted.deallocate(one, 10 * MIB);
            counted.allocate(2 * MIB);
            counted.deallocate(two, 5 * MIB);
            assertThat(counted.statistics()).isEqualTo(new ResourceStatistics(2 * MIB, 15 * MIB, 17 * MIB, 1, 2, 3));
        }

        @Test
        void aScopeFoldsIntoTheOneAroundIt() {
            long outer = counted.allocate(10);
            counted.push();
            long inner = counted.allocate(7);
            counted.push();
            counted.deallocate(counted.allocate(100), 100);
            assertThat(counted.pop()).isEqualTo(new ResourceStatistics(0, 100, 100, 0, 1, 1));
            counted.deallocate(inner, 7);
            counted.deallocate(outer, 10);
            assertThat(counted.pop()).isEqualTo(new ResourceStatistics(-10, 107, 107, -1, 2, 2));
            assertThat(counted.statistics()).isEqualTo(new ResourceStatistics(0, 117, 117, 0, 3, 3));
            assertThatThrownBy(counted::pop).isInstanceOf(IllegalStateException.class);
        }

        @Test
        void anInnerOneGoesBelowZeroWhenItSeesFreesOnly() {
            long address = addresses.allocate(100);
            counted.deallocate(address, 100);
            assertThat(counted.statistics().bytes()).isEqualTo(-100);
            assertThat(counted.statistics().blocks()).isEqualTo(-1);
        }

        @Test
        void aBlockThatTheDriverFailsToTakeBackIsDead() {
            long address = counted.allocate(100);
            addresses.afterFree(() -> {
                throw new DeviceException("the driver fails", null);
            });
            assertThatThrownBy(() -> counted.deallocate(address, 100)).isInstanceOf(DeviceException.class);
            assertThat(counted.statistics().bytes()).isZero();
            assertThat(counted.statistics().blocks()).isZero();
        }

        @Test
        void oneBelowAndOneAboveSeeDifferentThings() {
            StatisticsResource above = new StatisticsResource(new AlignedResource(counted, 1024));
            above.deallocate(above.allocate(100), 100);
            assertThat(above.statistics().peakBytes()).isEqualTo(100);
            assertThat(counted.statistics().peakBytes()).isEqualTo(100 + 1024 - 256);
        }

        @Test
        void aPeakInAnInnerScopeIsAPeakOfTheOuterOne() {
            long outer = counted.allocate(10);
            counted.push();
            counted.deallocate(counted.allocate(5), 5);
            counted.pop();
            counted.allocate(1);
            counted.deallocate(outer, 10);
            assertThat(counted.statistics()).isEqualTo(new ResourceStatistics(1, 15, 16, 1, 2, 3));
        }

        @Test
        void aFailedCallCountsNothing() {
            assertThatThrownBy(() -> counted.allocate(1L << 41)).isInstanceOf(OutOfMemoryException.class);
            assertThatThrownBy(() -> counted.deallocate(64, 1)).isInstanceOf(ForeignAddressException.class);
            assertThat(counted.statistics()).isEqualTo(new ResourceStatistics(0, 0, 0, 0, 0, 0));
        }
    }

    @Nested
    class LeakTracking {
        @Test
        void whatIsOutstandingIsReportedByItsPlace() {
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
                    .isEqualTo("whatIsOutstandingIsReportedByItsPlace");
            assertThat(report.toString()).contains("250 bytes in 3 blocks not deallocated");
        }

        @Test
        void unknownAddressesAndWrongSizesAreRefusedAndStayOutstanding() {
            LeakTrackingResource tracked = LeakTrackingResource.full(addresses);
            long address = tracked.allocate(100);
            assertThatThrownBy(() -> tracked.deallocate(address, 99)).isInstanceOf(InvalidSizeException.class);
            assertThatThrownBy(() -> tracked.deallocate(64, 1)).isInstanceOf(ForeignAddressException.class);
            assertThat(tracked.report().bytes()).isEqualTo(100);
            assertThat(addresses.blocks()).isEqualTo(1);
        }

        @Test
        void aDeallocationThatTheUpstreamRefusesStaysOutstanding() {
            FaultyFree faulty = new FaultyFree(addresses);
            LeakTrackingResource tracked = LeakTrackingResource.full(faulty);
            long address = tracked.allocate(100);
            assertThatThrownBy(() -> tracked.deallocate(address, 100)).isInstanceOf(ForeignAddressException.class);
            assertThat(tracked.report().bytes()).isEqualTo(100);
        }

        @Test
        void aSampleOfAllIsAllAndARareOneIsSmall() {
            LeakTrackingResource every = LeakTrackingResource.sampled(addresses, 1);
            LeakTrackingResource some = LeakTrackingResource.sampled(new AddressesResource(1 << 20), 64);
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
    class LeakSamples {
        /** Hands out addresses that rise, and takes everything back. */
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
        void aSampleHasOneOfItsInterval(int interval) {
            LeakTrackingResource tracked = LeakTrackingResource.sampled(endless, interval);
            int blocks = 8 * interval;
            for (int round = 0; round < 100; round++) {
                for (int i = 0; i < blocks; i++) {
                    tracked.allocate(1);
                }
            }
            // 800 are expected, and of these some meet in the table
            assertThat(tracked.report().blocks()).isBetween(600L, 1000L);
        }

        @Test
        void whatIsDeallocatedLeavesTheSample() {
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
        void everyInstanceLooksAtOtherAddresses() {
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
        void whatIsLeftIsLoggedAtCloseWithItsPlace() {
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
                    .startsWith("WARNING LeakTracking(addresses): 100 bytes in 1 blocks not deallocated")
                    .contains("whatIsLeftIsLoggedAtCloseWithItsPlace");
        }
    }

    /** Refuses every deallocation. */
    private static final class FaultyFree extends ResourceDecorator {
        FaultyFree(MemoryResource upstream) {
            super(upstream);
        }

        @Override
        protected long take(long byteSize, long byteAlignment, allocator.spi.SyncStream stream) {
            return takeUpstream(byteSize, byteAlignment, stream);
        }

        @Override
        protected void giveBack(long address, long byteSize, long byteAlignment, allocator.spi.SyncStream stream) {
            throw new ForeignAddressException(address, "refused on purpose");
        }
    }

    @Nested
    class FailureCallback {
        @Test
        void theCallbackIsAskedUntilItMakesRoom() {
            AddressesResource small = new AddressesResource(100);
            long address = small.allocate(100);
            List<Integer> attempts = new ArrayList<>();
            MemoryResource resource = new FailureCallbackResource(small, 5, (failure, attempt) -> {
                attempts.add(attempt);
                if (attempt == 2) {
                    small.deallocate(address, 100);
                }
                return true;
            });
            resource.allocate(80, 128);
            assertThat(attempts).containsExactly(1, 2);
            assertThat(small.calls.getLast()).isEqualTo("allocate 80 aligned 128");
        }

        @Test
        void attemptsAreBounded() {
            List<Integer> attempts = new ArrayList<>();
            MemoryResource resource = new FailureCallbackResource(
                    new AddressesResource(1), 3, (failure, attempt) -> attempts.add(attempt));
            assertThatThrownBy(() -> resource.allocate(2)).isInstanceOf(OutOfMemoryException.class);
            assertThat(attempts).containsExactly(1, 2, 3);
            assertThatThrownBy(() -> new FailureCallbackResource(addresses, 0, (failure, attempt) -> true))
                    .isInstanceOf(IllegalArgumentException.class);
        }

        @Test
        void aCallbackCanGiveUpAndOtherFailuresPass() {
            MemoryResource resource =
                    new FailureCallbackResource(new AddressesResource(1), 3, (failure, attempt) -> false);
            assertThatThrownBy(() -> resource.allocate(2)).isInstanceOf(OutOfMemoryException.class);
            assertThatThrownBy(() -> resource.allocate(1, 512)).isInstanceOf(InvalidAlignmentException.class);
        }
    }

    @Nested
    class Fallback {
        private final AddressesResource first = new AddressesResource(MemoryKind.PINNED, 100);
        private final HostResource host = new HostResource();

        @Test
        void everyBlockGoesBackToWhereItCameFrom() {
            MemoryResource both = new FallbackResource(new AddressesResource(MemoryKind.HOST, 100), host);
            long small = both.allocate(100, 64);
            long large = both.allocate(1000, 64);
            both.deallocate(large, 1000, 64);
            both.deallocate(small, 100, 64);
            assertThatThrownBy(() -> both.deallocate(large, 1000, 64)).isInstanceOf(ForeignAddressException.class);
            host.close();
        }

        @Test
        void aRefusedDeallocationKeepsTheOwner() {
            MemoryResource both = new FallbackResource(new AddressesResource(MemoryKind.HOST, 100), host);
            long large = both.allocate(1000, 64);
            assertThatThrownBy(() -> both.deallocate(large, 999, 64)).isInstanceOf(InvalidSizeException.class);
            both.deallocate(large, 1000, 64);
        }

        @Test
        void memoryOfAnotherContextIsRefused() {
            CountingStream stream = new CountingStream(first.memory());
            MemoryResource bound = new StreamBoundResource(first, stream);
            assertThatThrownBy(() -> new FallbackResource(first, bound))
                    .isInstanceOf(StackOrderException.class)
                    .hasMessageContaining("another context");
            assertThat(new FallbackResource(bound, new StreamBoundResource(first, stream)).context())
                    .isEqualTo(bound.context());
        }

        @Test
        void whenBothAreOutBothFailuresAreTold() {
            MemoryResource both = new FallbackResource(new AddressesResource(1), new AddressesResource(2));
            assertThatThrownBy(() -> both.allocate(3))
                    .isInstanceOf(OutOfMemoryException.class)
                    .satisfies(e -> assertThat(e.getSuppressed()).hasSize(1));
        }

        @Test
        void memoryThatUsersOfTheFirstCannotReachIsRefused() {
            assertThatThrownBy(() -> new FallbackResource(first, host))
                    .isInstanceOf(StackOrderException.class)
                    .hasMessageContaining("cannot stand in for");
            assertThat(new FallbackResource(host, first).kind()).isEqualTo(MemoryKind.HOST);
        }
    }

    @Nested
    class Aligned {
        @Test
        void whatIsAlignedAnywayPassesThrough() {
            MemoryResource aligned = new AlignedResource(addresses, 128);
            aligned.deallocate(aligned.allocate(100, 8), 100, 8);
            assertThat(addresses.calls).containsExactly("allocate 100 aligned 256", "deallocate 100 aligned 256");
        }

        @Test
        void moreIsAskedForByTheDifference() {
            MemoryResource aligned = new AlignedResource(addresses, 4096);
            long address = aligned.allocate(100, 8);
            assertThat(address % 4096).isZero();
            aligned.deallocate(address, 100, 8);
            assertThat(addresses.calls).containsExactly("allocate 3940 aligned 256", "deallocate 3940 aligned 256");
        }

        @ParameterizedTest
        @ValueSource(longs = {255, 768, 0, -4096})
        void onlyPowersOfTwoAreAccepted(long byteAlignment) {
            assertThatThrownBy(() -> new AlignedResource(addresses, byteAlignment))
                    .isInstanceOf(InvalidAlignmentException.class);
        }
    }

    @Nested
    class FaultInjection {
        @Test
        void theNamedRequestsFailAndNeverReachTheUpstream() {
            MemoryResource faulty = new FaultInjectionResource(addresses, FaultPlan.onRequest(2));
            faulty.allocate(1);
            assertThatThrownBy(() -> faulty.allocate(2)).isInstanceOf(OutOfMemoryException.class);
            faulty.allocate(3);
            assertThat(addresses.blocks()).isEqualTo(2);
        }

        @Test
        void chanceIsTheSameForTheSameSeed() {
            FaultPlan plan = FaultPlan.byChance(0.3, 9);
            FaultPlan again = FaultPlan.byChance(0.3, 9);
            long failed = IntStream.range(0, 1000).filter(i -> plan.fails(1, i)).count();
            assertThat(failed).isBetween(200L, 400L);
            assertThat(IntStream.range(0, 1000)).allMatch(i -> plan.fails(1, i) == again.fails(1, i));
            assertThat(FaultPlan.fromSize(10).fails(9, 1)).isFalse();
            assertThat(FaultPlan.fromSize(10).fails(10, 1)).isTrue();
        }
    }

    /** An upstream that returns late lets another thread have the address before the first call is over. */
    @Test
    void anAddressThatIsReusedDuringALateFreeIsNotMistaken() throws Exception {
        AddressesResource slow = new AddressesResource(1 << 20).afterFree(() -> {
            try {
                Thread.sleep(1);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        LeakTrackingResource tracked = LeakTrackingResource.full(slow);
        RequestBudgetResource budgeted = new RequestBudgetResource(tracked);
        MemoryResource top = new LoggingResource(budgeted, new TraceLog(new StringWriter()));
        Budget request = Budget.of("request", 1 << 20);
        try (var threads = Executors.newFixedThreadPool(4)) {
            List<Future<?>> all = new ArrayList<>();
            for (int thread = 0; thread < 4; thread++) {
                all.add(threads.submit(() -> ScopedValue.where(RequestBudgetResource.CURRENT, request)
                        .run(() -> {
                            for (int i = 0; i < 100; i++) {
                                top.deallocate(top.allocate(256), 256);
                            }
                        })));
            }
            for (Future<?> one : all) {
                one.get();
            }
        }
        assertThat(tracked.report().blocks()).isZero();
        assertThat(request.status().charge()).isZero();
    }
}
