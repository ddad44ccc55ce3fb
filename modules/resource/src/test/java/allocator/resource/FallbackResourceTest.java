package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.AllocatorStats;
import allocator.spi.ForeignAddressException;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.testkit.FakeStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FallbackResourceTest {
    private final FakeResource first = new FakeResource(MemoryKind.PINNED, 100);
    private final HostResource host = new HostResource();

    @Test
    void everyBlockIsDeallocatedByTheResourceThatAllocatedIt() {
        MemoryResource both = new FallbackResource(new FakeResource(MemoryKind.HOST, 100), host);
        long small = both.allocate(100, 64);
        long large = both.allocate(1000, 64);
        both.deallocate(large, 1000, 64);
        both.deallocate(small, 100, 64);
        assertThatThrownBy(() -> both.deallocate(large, 1000, 64)).isInstanceOf(ForeignAddressException.class);
        host.close();
    }

    @Test
    void aRejectedDeallocationKeepsTheOwner() {
        MemoryResource both = new FallbackResource(new FakeResource(MemoryKind.HOST, 100), host);
        long large = both.allocate(1000, 64);
        assertThatThrownBy(() -> both.deallocate(large, 999, 64)).isInstanceOf(InvalidSizeException.class);
        both.deallocate(large, 1000, 64);
    }

    @Test
    void memoryOfAnotherContextIsRejected() {
        FakeStream stream = new FakeStream(first.memory());
        MemoryResource bound = new StreamBoundResource(first, stream);
        assertThatThrownBy(() -> new FallbackResource(first, bound))
                .isInstanceOf(StackOrderException.class)
                .hasMessageContaining("another context");
        assertThat(new FallbackResource(bound, new StreamBoundResource(first, stream)).context())
                .isEqualTo(bound.context());
    }

    @Test
    void theFailureOfTheFirstCarriesThatOfTheSecond() {
        MemoryResource both = new FallbackResource(new FakeResource(1), new FakeResource(2));
        assertThatThrownBy(() -> both.allocate(3))
                .isInstanceOf(OutOfMemoryException.class)
                .satisfies(e -> assertThat(e.getSuppressed()).hasSize(1));
    }

    /** The second counts nothing by itself. */
    @Test
    void aShrinkReportsWhatTheSecondHoldsAndReturns() {
        FakeResource second = new FakeResource(10_000);
        ResourceAllocator allocator = ResourceAllocator.of(new FallbackResource(counting(AllocatorStats.NONE), second));
        long kept = allocator.alloc(1000);
        long failed = allocator.alloc(2000);
        assertThat(allocator.shrink().bytesHeld()).isEqualTo(3000);

        second.before(call -> {
            throw new IllegalStateException("planted");
        });
        allocator.free(failed);
        second.before(call -> {});
        assertThat(allocator.shrink()).isEqualTo(new ShrinkReport(2000, 0, 1000, 0, 0));
        allocator.free(kept);
        assertThat(allocator.shrink()).isEqualTo(new ShrinkReport(0, 0, 0, 0, 0));
    }

    private static FakeResource counting(AllocatorStats stats) {
        return new FakeResource(0) {
            @Override
            public Optional<AllocatorStats> stats() {
                return Optional.of(stats);
            }
        };
    }

    @ParameterizedTest
    @CsvSource({
        "1, 2, 3",
        "-1, 2, -1",
        "2, -1, -1",
        "9223372036854775806, 1, 9223372036854775807",
        "9223372036854775807, 1, -1",
        "9223372036854775807, 9223372036854775807, -1"
    })
    void limitsWhoseSumIsTooLargeAreNone(long one, long two, long sum) {
        MemoryResource both = new FallbackResource(
                counting(new AllocatorStats.Builder().limit(one).build()),
                counting(new AllocatorStats.Builder().limit(two).build()));
        assertThat(both.stats().orElseThrow().limit()).isEqualTo(sum);
    }

    @Test
    void aSumThatIsTooLargeIsTheLargestNumber() {
        FakeResource many =
                counting(new AllocatorStats.Builder().held(3, Long.MAX_VALUE).build());
        AllocatorStats sum = new FallbackResource(many, many).stats().orElseThrow();
        assertThat(sum.bytesHeld()).isEqualTo(6);
        assertThat(sum.peakBytesHeld()).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void aKindThatCannotReplaceTheFirstIsRejected() {
        assertThatThrownBy(() -> new FallbackResource(first, host))
                .isInstanceOf(StackOrderException.class)
                .hasMessageContaining("cannot replace");
        assertThat(new FallbackResource(host, first).kind()).isEqualTo(MemoryKind.HOST);
    }

    /** The counters of blocks of the second resource, which does not count itself. */
    @Nested
    class Statistics {
        private final FakeResource second = new FakeResource(1000);
        private final MemoryResource both =
                new FallbackResource(new AllocatorResource(ResourceAllocator.of(new FakeResource(1))), second);

        private AllocatorStats stats() {
            return both.stats().orElseThrow();
        }

        @Test
        void aBlockOnItsWayBackIsHeld() {
            long address = both.allocate(300, 256);
            List<AllocatorStats> during = new ArrayList<>();
            second.afterFree(() -> during.add(stats()));
            both.deallocate(address, 300, 256);
            assertThat(during).hasSize(1);
            assertThat(during.getFirst().bytesHeld()).isEqualTo(300);
            assertThat(stats().bytesHeld()).isZero();
        }
    }
}
