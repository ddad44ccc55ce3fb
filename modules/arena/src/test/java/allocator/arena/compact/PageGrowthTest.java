package allocator.arena.compact;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.arena.BfcArena;
import allocator.arena.CompactConfig;
import allocator.arena.LaneMoves;
import allocator.arena.chunk.Boundaries;
import allocator.spi.DeviceException;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Where a request that lacks pages gets them. */
class PageGrowthTest {
    private static final int PAGE = 4096;
    private static final CompactConfig SINGLE_PAGES = new CompactConfig(0, 0, Integer.MAX_VALUE, 1, 0);

    private final FakePages pages = new FakePages(PAGE, 1000);

    /** The free chunk at the start is the best fit, but its pages are in use elsewhere, and are wanted there again. */
    @Test
    void addressesWithoutAMappingAreTakenBeforeThoseWhereOneHasToEnd() {
        final BfcArena arena = PagedArenas.create(pages, 0, SINGLE_PAGES);
        final long first = arena.alloc(2 * PAGE);
        final long between = arena.alloc(PAGE);
        arena.free(first);
        final long moved = arena.alloc(3 * PAGE);
        assertThat(PagedArenas.counter(arena, "NumExtentMoves")).isEqualTo(2);

        assertThat(arena.alloc(2 * PAGE)).isGreaterThan(moved).isGreaterThan(between);
        assertThat(PagedArenas.counter(arena, "NumPageUnmaps")).isZero();
        arena.checkConsistency();
    }

    /** Between two places that are not backed, and not at the start of the free chunk. */
    @Test
    void memoryThatIsBackedWithinAFreeChunkServesWithoutACall() {
        final BfcArena arena = PagedArenas.create(pages, 0, SINGLE_PAGES);
        final long[] blocks = new long[8];
        for (int i = 0; i < 8; i++) {
            blocks[i] = arena.alloc(PAGE);
        }
        for (int i : new int[] {0, 4, 7}) {
            arena.free(blocks[i]);
        }
        final long elsewhere =
                arena.alloc(3 * PAGE); // backed by what was freed, whose first addresses are not any more
        final long calls = calls(arena);
        for (int i : new int[] {1, 2, 3, 5, 6}) {
            arena.free(blocks[i]);
        }

        assertThat(arena.alloc(3 * PAGE)).isEqualTo(blocks[1]);
        assertThat(arena.alloc(2 * PAGE)).isEqualTo(blocks[5]);
        assertThat(calls(arena)).isEqualTo(calls);
        arena.free(elsewhere);
        arena.checkConsistency();
    }

    private static long calls(BfcArena arena) {
        return PagedArenas.counter(arena, "NumPageMaps") + PagedArenas.counter(arena, "NumPageUnmaps");
    }

    /** Where there are no others, the mappings end. */
    @Test
    void aMappingEndsForAChunkThatHasNoOtherAddresses() {
        final BfcArena arena = PagedArenas.create(pages, 5 * PAGE, SINGLE_PAGES);
        for (int pass = 0; pass < 20; pass++) {
            final long first = arena.alloc(2 * PAGE);
            final long between = arena.alloc(PAGE);
            arena.free(first);
            final long moved = arena.alloc(4 * PAGE);
            arena.free(between);
            arena.free(arena.alloc(PAGE));
            arena.free(moved);
            arena.checkConsistency();
        }
        assertThat(arena.stats().numFailedAllocs()).isZero();
        assertThat(arena.stats().peakBytesHeld()).isEqualTo(5 * PAGE);
    }

    @Test
    void aLaneDoesWithoutAnExtentThatCannotBeTakenOver() {
        final BfcArena arena = PagedArenas.create(new FakeDevice(), pages, 0, 2, SINGLE_PAGES);
        arena.free(arena.alloc(4 * PAGE));
        final FakeStream stream = new FakeStream(pages.info());
        LaneMoves.leaveMainLane(arena, stream);
        pages.before(call -> {
            if (call.equals("unmap")) {
                throw new DeviceException("injected", null);
            }
        });

        final long block = arena.allocOnStream(2 * PAGE, stream);
        assertThat(arena.stats().bytesHeld()).isEqualTo(6 * PAGE);
        assertThat(arena.stats().numFailedAllocs()).isZero();
        pages.before(call -> {});
        arena.checkConsistency();
        arena.free(block);
        arena.endRun(stream);
        assertThat(arena.shrink().bytesHeld()).isZero();
        arena.close();
        pages.requireEmpty();
    }

    /** A thread that frees memory at every wait goes on forever, unless the size is found impossible. */
    @Test
    void noSizeAboveTheMemoryWaitsForEveryFree() {
        final BfcArena arena = PagedArenas.create(pages, 0, SINGLE_PAGES);
        arena.alloc(8 * PAGE);
        final FakeStream stream = new FakeStream(pages.info());
        final AtomicInteger waits = new AtomicInteger();
        stream.before(call -> {
            if (waits.getAndIncrement() < 50) {
                arena.free(arena.allocOnStream(PAGE, stream));
            }
        });
        for (final long byteSize : Boundaries.within(Long.MAX_VALUE - PAGE, Long.MAX_VALUE)) {
            arena.free(arena.allocOnStream(PAGE, stream));
            waits.set(0);
            assertThatThrownBy(() -> arena.alloc(byteSize))
                    .isInstanceOfAny(OutOfMemoryException.class, InvalidSizeException.class);
            assertThat(waits).as("for %d bytes", byteSize).hasValueLessThan(10);
        }
        arena.checkConsistency();
    }
}
