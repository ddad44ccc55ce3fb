package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import allocator.arena.compact.FakePages;
import allocator.spi.AllocatorClosedException;
import allocator.spi.DoubleFreeException;
import allocator.spi.InteriorAddressException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.testkit.FakeDevice;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What an arena on pages shares with others: reserves, limit, statistics, reports and the close. */
@Timeout(120)
class CompactPolicyTest {
    private static final long PAGE = AllocatedPages.PAGE_BYTES;

    private final FakeDevice device = new FakeDevice();
    private BfcArena arena = AllocatedPages.compact(device, 0, 0);

    private BfcArena limited(long pages) {
        return AllocatedPages.compact(device, pages, 0);
    }

    private long counter(String name) {
        return arena.stats().counter(name).orElseThrow().value();
    }

    @Test
    void onlyCompactNeedsPages() {
        final ArenaConfig compact = ArenaConfig.DEFAULT.withPlacementPolicy(PlacementPolicy.COMPACT);
        assertThatIllegalArgumentException().isThrownBy(() -> new BfcArena(device, compact));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> BfcArena.onPages(device, new FakePages(1 << 16, 1 << 10), ArenaConfig.DEFAULT));
    }

    @Nested
    class Reserves {
        @Test
        void aReserveLiesOutsideThePages() {
            final long block = arena.alloc(100);
            final long reserve = arena.reserve(1000);

            assertThat(device.requestedSizes()).endsWith(1000L);
            assertThat(arena.stats().bytesHeld()).isEqualTo(counter("PhysicalBytes") + 1000);
            assertThat(arena.stats().numReserves()).isOne();
            arena.free(reserve);
            arena.free(block);
            assertThat(arena.stats().bytesInUse()).isZero();
            assertThat(device.liveBytes()).isEqualTo(counter("PhysicalBytes"));
        }

        /** What is reserved is no reason to keep pages. */
        @Test
        void reservesDoNotCountAsWhatPagesAreFor() {
            final long weights = arena.reserve(1000 * PAGE);
            final long[] blocks = new long[20];
            for (int i = 0; i < blocks.length; i++) {
                blocks[i] = arena.alloc(PAGE);
            }
            for (int i = 0; i < blocks.length; i += 2) {
                arena.free(blocks[i]);
            }
            final long before = counter("PhysicalBytes");
            final long large = arena.alloc(8 * PAGE);

            assertThat(counter("PhysicalBytes")).isEqualTo(before);
            arena.free(large);
            arena.free(weights);
        }

        @Test
        void idlePagesMakeRoomForAReserve() {
            arena = limited(4);
            arena.free(arena.alloc(4 * PAGE));
            assertThat(arena.stats().bytesHeld()).isEqualTo(4 * PAGE);

            arena.free(arena.reserve(3 * PAGE));
            assertThat(arena.stats().numFailedAllocs()).isZero();
        }
    }

    @Nested
    class Failures {
        @Test
        void aRequestBeyondTheLimitNamesIt() {
            arena = limited(4);
            final long block = arena.alloc(2 * PAGE);
            assertThatExceptionOfType(OutOfMemoryException.class)
                    .isThrownBy(() -> arena.alloc(3 * PAGE))
                    .satisfies(failure -> {
                        assertThat(failure.shortage().limit()).isEqualTo(4 * PAGE);
                        assertThat(failure.shortage().requested()).isEqualTo(3 * PAGE);
                        assertThat(failure.shortage().inUse()).isEqualTo(2 * PAGE);
                    });
            assertThat(arena.stats().numFailedAllocs()).isOne();
            arena.free(block);
            arena.free(arena.alloc(3 * PAGE));
        }

        @Test
        void invalidFreesAreDiagnosed() {
            final long block = arena.alloc(1000);
            assertThatExceptionOfType(InteriorAddressException.class).isThrownBy(() -> arena.free(block + 256));
            arena.free(block);
            assertThatExceptionOfType(DoubleFreeException.class).isThrownBy(() -> arena.free(block));
        }
    }

    @Nested
    class Shrinks {
        @Test
        void theReportAccountsForEachByte() {
            final long reserve = arena.reserve(1000);
            final long small = arena.alloc(256);
            arena.free(arena.alloc(10 * PAGE));

            final ShrinkReport report = arena.shrink();

            assertThat(report.bytesHeld()).isEqualTo(PAGE + 1000).isEqualTo(device.liveBytes());
            assertThat(report.held()).extracting(ShrinkReport.Held::bytes).containsExactly(PAGE, 1000L);
            assertThat(report.held().getFirst().reason()).isEqualTo("pages with live blocks");
            arena.free(small);
            arena.free(reserve);
            assertThat(arena.shrink().bytesHeld()).isZero();
        }
    }

    @Test
    void aCloseReturnsLiveMemoryAndReportsIt() {
        arena.alloc(1000);
        arena.reserve(500);

        final CloseReport report = arena.close();

        assertThat(report).isEqualTo(new CloseReport(2, 1500, PAGE + 500));
        assertThat(device.liveBytes()).isZero();
        assertThatExceptionOfType(AllocatorClosedException.class).isThrownBy(() -> arena.alloc(1));
        arena.close();
    }
}
