package allocator.arena.compact;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import allocator.arena.BfcArena;
import allocator.arena.CompactConfig;
import allocator.spi.AllocatorStats;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeStream;
import org.junit.jupiter.api.Test;

/** What a request that fails says, and what it leaves. */
class PagedShortagesTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 16;

    private final FakePages pages = new FakePages(PAGE, PAGES);

    private BfcArena arena(long maxPages) {
        return PagedArenas.create(pages, maxPages * PAGE, new CompactConfig(4, 4, 48, 5, 1000));
    }

    private static OutOfMemoryException failureOf(Runnable request) {
        return catchThrowableOfType(OutOfMemoryException.class, request::run);
    }

    /** A block that begins within a page may need one more than its size says. */
    @Test
    void theLargestFreeChunkIsGranted() {
        final BfcArena arena = arena(1);
        final FakeStream stream = new FakeStream(pages.info());
        arena.free(arena.allocOnStream(256, stream));

        final long largest = failureOf(() -> arena.alloc(PAGE)).shortage().largestFree();
        assertThat(arena.stats().largestFreeChunk()).isEqualTo(largest);
        arena.free(arena.alloc(largest));
        assertThat(arena.stats().numFailedAllocs()).isOne();
    }

    /** It would be of no use to others of the device (S-05). */
    @Test
    void aRequestThatFailsKeepsNoMemoryOfTheDevice() {
        final BfcArena arena = arena(0);
        final long block = arena.alloc(2 * PAGE);
        final AllocatorStats before = arena.stats();

        assertThat(failureOf(() -> arena.alloc(PAGES * PAGE))).isNotNull();
        assertThat(arena.stats().bytesHeld()).isEqualTo(before.bytesHeld());
        assertThat(arena.stats().numArenaExtensions()).isEqualTo(before.numArenaExtensions());
        assertThat((long) pages.livePages() * PAGE).isEqualTo(before.bytesHeld());
        arena.checkConsistency();
        arena.free(block);
    }

    @Test
    void norOneThatFailsAtTheLimit() {
        final BfcArena arena = arena(PAGES);
        final long block = arena.alloc(2 * PAGE - 256);
        final FakeStream stream = new FakeStream(pages.info());
        arena.free(arena.allocOnStream(PAGE, stream));
        final long held = arena.stats().bytesHeld();

        assertThat(failureOf(() -> arena.alloc(PAGES * PAGE))).isNotNull();
        assertThat(arena.stats().bytesHeld()).isLessThanOrEqualTo(held);
        arena.checkConsistency();
        arena.free(block);
    }
}
