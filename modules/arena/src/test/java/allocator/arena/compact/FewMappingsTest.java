package allocator.arena.compact;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.arena.BfcArena;
import allocator.arena.CompactConfig;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.testkit.FakeDevice;
import org.junit.jupiter.api.Test;

/** A source that has room for few mappings, as a system that counts those of a process. */
class FewMappingsTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 8;
    private static final int MANY = 1000;

    private final FakePages pages = new FakePages(PAGE, MANY);
    private final BfcArena arena = PagedArenas.create(pages, 0, new CompactConfig(0, 0, Integer.MAX_VALUE, 1, 0));

    private void limitMappings(int most) {
        pages.before(call -> {
            if (call.equals("map") && pages.mappings() >= most) {
                throw new OutOfMemoryException(
                        "There is no room for another mapping",
                        Shortage.ofDevice(FakeDevice.INFO, PAGE, OutOfMemoryException.UNKNOWN));
            }
        });
    }

    /** Half of the pages are mapped twice, and nothing is live. */
    private void mapHalfOfThePagesTwice() {
        final long[] blocks = new long[PAGES];
        for (int i = 0; i < PAGES; i++) {
            blocks[i] = arena.alloc(PAGE);
        }
        for (int i = 0; i < PAGES; i += 2) {
            arena.free(blocks[i]);
        }
        final long large = arena.alloc(PAGES / 2 * PAGE);
        for (int i = 1; i < PAGES; i += 2) {
            arena.free(blocks[i]);
        }
        arena.free(large);
        assertThat(pages.livePages()).isEqualTo(PAGES);
        assertThat(pages.mappings()).isEqualTo(PAGES / 2 * 3);
    }

    @Test
    void mappingsOfNoUseMakeRoomForOthers() {
        mapHalfOfThePagesTwice();
        limitMappings(pages.mappings());

        final long block = arena.alloc((PAGES + 1) * PAGE);
        assertThat(arena.stats().bytesInUse()).isEqualTo((PAGES + 1) * PAGE);
        assertThat(arena.stats().numFailedAllocs()).isZero();
        arena.checkConsistency();
        arena.free(block);
        assertThat(arena.shrink().bytesHeld()).isZero();
        arena.close();
        pages.requireEmpty();
    }

    @Test
    void soDoMappingsOfIdleExtents() {
        final long[] blocks = new long[PAGES];
        for (int i = 0; i < PAGES; i++) {
            blocks[i] = arena.alloc(PAGE);
        }
        limitMappings(pages.mappings());
        for (int i = 0; i < PAGES; i += 2) {
            arena.free(blocks[i]);
        }

        arena.free(arena.alloc(PAGES / 2 * PAGE));
        assertThat(arena.stats().numFailedAllocs()).isZero();
        arena.checkConsistency();
    }

    @Test
    void aRequestThatNeedsMoreMappingsThanThereAreFails() {
        mapHalfOfThePagesTwice();
        limitMappings(0);

        assertThatExceptionOfType(OutOfMemoryException.class)
                .isThrownBy(() -> arena.alloc(2 * PAGES * PAGE))
                .withMessageContaining("no room for another mapping");
        assertThat(arena.stats().numFailedAllocs()).isOne();
        assertThat(arena.stats().bytesInUse()).isZero();
        arena.checkConsistency();
        assertThat(arena.shrink().bytesHeld()).isZero();
        assertThat(pages.mappings()).isZero();
    }
}
