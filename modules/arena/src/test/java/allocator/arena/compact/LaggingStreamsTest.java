package allocator.arena.compact;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import allocator.arena.BfcArena;
import allocator.arena.CompactConfig;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeStream;
import allocator.testkit.Share;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/**
 * Two streams that lag on one arena: their work is known to be done only once they were waited for, and while the arena
 * waits for one of them, that stream goes on to allocate and free. A seed decides about all of it.
 */
class LaggingStreamsTest {
    private static final int PAGE = 4096;
    private static final int PROGRAMS = Share.of(150);
    private static final int STEPS = 300;

    /** A request does not wait while there is room beside what waits for streams, wherever that is. */
    @Test
    void noRequestWaitsOrFailsWithoutNeed() {
        for (int seed = 0; seed < PROGRAMS; seed++) {
            final int each = seed;
            assertThatCode(() -> new Program(each).run()).as("seed %d", seed).doesNotThrowAnyException();
        }
    }

    private record Block(long address, int byteSize) {}

    private static final class Side {
        private final FakeStream stream;
        private final List<Block> live = new ArrayList<>();

        /** The extents with memory that this stream has freed, and may still use. */
        private final Set<Long> freed = new TreeSet<>();

        Side(FakeStream stream) {
            this.stream = stream;
        }
    }

    private static final class Program {
        private final Random random;
        private final int maxPages;
        private final FakePages pages;
        private final BfcArena arena;
        private final List<Side> sides = new ArrayList<>();
        private final int largest;

        /** The most pages that extents with live blocks have had during the current request. */
        private int mostUsed;

        /** Extents, which are never released here, by the size in pages. */
        private final Map<Long, Integer> sizes = new HashMap<>();

        private int flushes;
        private int burstsLeft;

        Program(long seed) {
            random = new Random(seed);
            maxPages = 2 + random.nextInt(40);
            pages = new FakePages(PAGE, random.nextBoolean() ? maxPages : 1000);
            arena = PagedArenas.create(
                    pages,
                    (long) maxPages * PAGE,
                    new CompactConfig(List.of(0, 4, 50).get(random.nextInt(3)), random.nextInt(3), 64, 1, 0));
            largest = (PAGE / 4) << random.nextInt(7);
            for (int i = 0; i < 2; i++) {
                final FakeStream stream = new FakeStream(pages.info());
                final Side side = new Side(stream);
                stream.before(call -> {
                    if (call.equals("flush")) {
                        flushed(side);
                    }
                });
                sides.add(side);
            }
        }

        void run() {
            for (int i = 0; i < STEPS; i++) {
                final Side side = sides.get(random.nextInt(2));
                if (random.nextInt(40) == 0) {
                    arena.endRun(side.stream);
                    side.freed.clear();
                } else if (!side.live.isEmpty() && random.nextInt(9) < 4) {
                    free(side);
                } else {
                    request(side);
                }
                arena.checkConsistency();
            }
        }

        /** The stream's work so far is done; during the wait its thread goes on. */
        private void flushed(Side side) {
            flushes++;
            side.freed.clear();
            for (int calls = burstsLeft > 0 ? random.nextInt(8) : 0; calls > 0; calls--) {
                if (!side.live.isEmpty() && random.nextBoolean()) {
                    free(side);
                } else {
                    try {
                        allocate(side, 1 + random.nextInt(largest));
                    } catch (IllegalStateException e) {
                        // It would have to call the device, and so to wait until the arena has.
                    }
                }
                mostUsed = Math.max(mostUsed, size(live()));
            }
            burstsLeft--;
        }

        private void request(Side side) {
            final int byteSize = 1 + random.nextInt(largest);
            final int needed = (byteSize + PAGE - 1) / PAGE + 1;
            final Set<Long> used = live();
            mostUsed = size(used);
            sides.forEach(each -> used.addAll(each.freed));
            final int room = maxPages - size(used);
            final int before = flushes;
            burstsLeft = random.nextInt(6);
            try {
                allocate(side, byteSize);
                assertThat(room >= needed && flushes > before)
                        .as("a request of %d bytes has waited, with room for %d pages", byteSize, room)
                        .isFalse();
            } catch (OutOfMemoryException e) {
                assertThat(maxPages - mostUsed)
                        .as("pages left to a request of %d bytes: %s", byteSize, e)
                        .isLessThan(needed);
            }
        }

        private void allocate(Side side, int byteSize) {
            side.live.add(new Block(arena.allocOnStream(byteSize, side.stream), byteSize));
        }

        private void free(Side side) {
            final Block block = side.live.remove(random.nextInt(side.live.size()));
            addExtents(block, side.freed);
            arena.free(block.address());
        }

        /** Returns the extents with a live byte. */
        private Set<Long> live() {
            final Set<Long> extents = new HashSet<>();
            sides.forEach(side -> side.live.forEach(block -> addExtents(block, extents)));
            return extents;
        }

        private void addExtents(Block block, Set<Long> extents) {
            for (long at = block.address(); at < block.address() + block.byteSize(); at += PAGE - at % PAGE) {
                final long extent = pages.extentWith(pages.pageAt(at));
                extents.add(extent);
                sizes.put(extent, pages.sizeOf(extent));
            }
        }

        private int size(Set<Long> extents) {
            return extents.stream().mapToInt(sizes::get).sum();
        }
    }
}
