package allocator.arena.compact;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import allocator.arena.BfcArena;
import allocator.arena.CompactConfig;
import allocator.arena.LaneMoves;
import allocator.arena.TableHeap;
import allocator.arena.chunk.Boundaries;
import allocator.arena.chunk.Region;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** How many addresses, and how much of the Java heap, an arena takes on a host of 1.5 TiB. */
class AddressRangesTest {
    private static final long MIB = 1 << 20;
    private static final long GIB = 1 << 30;
    private static final int PAGE = 256 << 10;
    private static final long HOST_PAGES = 1536 * GIB / PAGE;
    private static final int LANES = 16;

    private final FakePages pages = new FakePages(PAGE, HOST_PAGES);

    private BfcArena arena(long maxMem) {
        return PagedArenas.create(new FakeDevice(), pages, maxMem, LANES, CompactConfig.DEFAULT);
    }

    @Test
    void aSmallLimitTakesFewAddressesAndLittleHeapWithSixteenLanes() throws InterruptedException {
        final BfcArena arena = arena(64 * MIB);
        arena.alloc(1);
        for (int lane = 1; lane < LANES; lane++) {
            final Thread thread = new Thread(() -> {
                LaneMoves.leaveMainLane(arena);
                arena.alloc(1);
            });
            thread.start();
            thread.join();
        }
        assertThat(arena.laneCount()).isEqualTo(LANES);
        assertThat(TableHeap.of(arena)).isLessThanOrEqualTo(MIB / 4);
        assertThat(pages.reservedBytes()).isLessThanOrEqualTo(4 * GIB);
    }

    @Test
    void aSmallLimitTakesLittleHeapWithAStreamInEachOfSixteenLanes() {
        final BfcArena arena = arena(64 * MIB);
        arena.alloc(1);
        for (int lane = 1; lane < LANES; lane++) {
            final FakeStream stream = new FakeStream(pages.info());
            LaneMoves.leaveMainLane(arena, stream);
            arena.allocOnStream(1, stream);
        }
        assertThat(arena.laneCount()).isEqualTo(LANES);
        assertThat(TableHeap.of(arena)).isLessThanOrEqualTo(MIB / 4);
        assertThat(pages.reservedBytes()).isLessThanOrEqualTo(4 * GIB);
    }

    @Test
    void aLaneWithoutAddressesLeavesItsRequestsToOthers() {
        final BfcArena arena = arena(64 * MIB);
        arena.free(arena.alloc(4 * MIB));
        pages.limitAddresses(0);
        final FakeStream stream = new FakeStream(pages.info());
        LaneMoves.leaveMainLane(arena, stream);
        assertThat(arena.allocOnStream(MIB, stream)).isPositive();
    }

    @Test
    void addressesAreReservedAsTheyAreUsed() {
        for (int session = 0; session < 1000; session++) {
            arena(0).alloc(1);
        }
        assertThat(pages.reservedBytes()).isLessThanOrEqualTo(1000 * 16 * GIB);
    }

    @Test
    void noSizeAboveTheLargestRegionReservesAddresses() {
        for (final long byteSize : Boundaries.within(Region.MAX_BYTES + 1, Long.MAX_VALUE)) {
            final FakePages unused = new FakePages(PAGE, 1000);
            final BfcArena arena = PagedArenas.create(unused, 0, new CompactConfig(0, 0, Integer.MAX_VALUE, 1, 0));
            assertThat(catchThrowable(() -> arena.alloc(byteSize)))
                    .isInstanceOfAny(OutOfMemoryException.class, InvalidSizeException.class);
            assertThat(unused.reservedBytes()).as("for %d bytes", byteSize).isZero();
            arena.close();
        }
    }

    /** Blocks grow, and one in 16 stays: the others leave holes that no larger block fits. */
    @Test
    void withoutALimitTwiceTheMemoryIsTheMost() {
        final long memory = 256 * MIB;
        final FakePages small = new FakePages(PAGE, memory / PAGE);
        final BfcArena arena = PagedArenas.create(small, 0, new CompactConfig(0, 0, Integer.MAX_VALUE, 1, 0));
        OutOfMemoryException failure = null;
        for (long blockBytes = PAGE; failure == null && blockBytes < memory; blockBytes *= 16) {
            final long each = blockBytes;
            final List<Long> blocks = new ArrayList<>();
            while (failure == null && arena.stats().bytesInUse() + each <= memory) {
                failure = catchThrowableOfType(OutOfMemoryException.class, () -> blocks.add(arena.alloc(each)));
            }
            for (int i = 0; i < blocks.size(); i++) {
                if (i % 16 != 0) {
                    arena.free(blocks.get(i));
                }
            }
        }
        assertThat(failure).hasMessageContaining("There are no free addresses");
        assertThat(small.reservedBytes()).isBetween(memory * 3 / 2, 2 * memory);
        arena.checkConsistency();
    }

    /** A lane's ranges follow what it needs, and all of them are given back. */
    @Test
    void anArenaGrowsOverManyRanges() {
        final BfcArena arena = arena(64 * MIB);
        final List<Long> live = new ArrayList<>();
        for (int round = 0; round < 40; round++) {
            while (arena.stats().bytesInUse() < 16 * MIB) {
                live.add(arena.alloc((1 + round) * MIB / 8));
            }
            for (int i = live.size() - 1; i >= 0; i -= 2) {
                arena.free(live.remove(i));
            }
            arena.checkConsistency();
        }
        live.forEach(arena::free);
        arena.close();
        pages.requireEmpty();
    }

    @Test
    void aRangeThatFailsLeavesAddressesToOthers() {
        pages.limitAddresses(GIB);
        final BfcArena arena = arena(0);
        arena.alloc(1);
        assertThat(pages.reservedBytes()).isLessThanOrEqualTo(GIB / 2);
    }

    @Test
    void aFailureForWantOfAddressesSaysSoOnceAndNamesNoFreeChunk() {
        pages.limitAddresses(4L * PAGE);
        final BfcArena arena = arena(0);
        arena.alloc(4L * PAGE);
        final OutOfMemoryException failure = catchThrowableOfType(OutOfMemoryException.class, () -> arena.alloc(PAGE));
        assertThat(failure)
                .hasMessageStartingWith("There are no addresses left [")
                .hasMessageNotContaining(Long.toString(Long.MAX_VALUE));
        assertThat(failure.getMessage().split("There are no addresses", -1)).hasSize(2);
        assertThat(failure.getMessage().split("cannot allocate", -1)).hasSize(2);
        assertThat(failure.shortage().largestFree()).isEqualTo(OutOfMemoryException.UNKNOWN);
        assertThat(failure.shortage()).asString().doesNotContain(Long.toString(OutOfMemoryException.UNKNOWN));
    }

    @Test
    void tablesAreLessThanAHundredthOfWhatIsHeld() {
        final BfcArena arena = arena(0);
        for (int i = 0; i < 4096; i++) {
            arena.alloc(PAGE / 4);
        }
        assertThat(TableHeap.of(arena) * 100).isLessThanOrEqualTo(arena.stats().bytesHeld());
    }
}
