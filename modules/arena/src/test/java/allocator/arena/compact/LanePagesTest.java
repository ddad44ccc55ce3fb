package allocator.arena.compact;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.arena.BfcArena;
import allocator.arena.CompactConfig;
import allocator.spi.DeviceException;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class LanePagesTest {
    private static final int PAGE = 4096;
    private static final int MANY = 1000;

    private final FakePages pages = new FakePages(PAGE, MANY);

    /** Creates an arena that makes extents of any size. */
    private BfcArena arena(int slackPercent) {
        return arena(slackPercent, 1);
    }

    private BfcArena arena(int slackPercent, int extentDivisor) {
        return PagedArenas.create(pages, 0, new CompactConfig(slackPercent, 0, extentDivisor, 1, 1000));
    }

    private static long[] alloc(BfcArena arena, int count, int pagesOfEach) {
        final long[] addresses = new long[count];
        for (int i = 0; i < count; i++) {
            addresses[i] = arena.alloc((long) pagesOfEach * PAGE);
        }
        return addresses;
    }

    @Nested
    class Creating {
        @Test
        void aRunIsOneExtent() {
            final BfcArena arena = arena(0);
            arena.alloc(10 * PAGE);
            arena.alloc(7 * PAGE);
            assertThat(pages.creates()).isEqualTo(2);
            assertThat(pages.maps()).isEqualTo(2);
            assertThat(arena.stats().bytesHeld()).isEqualTo(17 * PAGE);
        }

        @Test
        void anExtentIsAPartOfWhatIsInUse() {
            final BfcArena arena = arena(0, 4);
            arena.alloc(16 * PAGE);
            assertThat(pages.creates()).isEqualTo(4);
        }

        @Test
        void theSlackIsUsedToMakeExtentsLarger() {
            final BfcArena arena = arena(25);
            arena.alloc(8 * PAGE);
            arena.alloc(PAGE);
            assertThat(arena.stats().bytesHeld()).isEqualTo(11 * PAGE);
            alloc(arena, 2, 1);
            assertThat(pages.creates()).isEqualTo(2);
        }

        /** It waits once: what the stream frees after that are no addresses for others. */
        @Test
        void aRequestWithoutAddressesFailsHoweverBusyTheirStreamIs() {
            pages.limitAddresses(4 * PAGE);
            final BfcArena arena = arena(0);
            final FakeStream busy = new FakeStream(pages.info());
            arena.free(arena.allocOnStream(4 * PAGE, busy));
            final int[] flushes = new int[1];
            busy.before(call -> {
                if (call.equals("flush") && ++flushes[0] < MANY) {
                    arena.free(arena.allocOnStream(1, busy));
                }
            });
            assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> arena.alloc(PAGE));
            assertThat(flushes[0]).isOne();
            arena.endRun(busy);
            arena.free(arena.alloc(PAGE));
        }

        @Test
        void anExtentEndsWithTheRange() {
            pages.limitAddresses(4 * PAGE);
            final BfcArena arena = arena(100);
            arena.alloc(2 * PAGE);
            arena.alloc(PAGE); // in a second range, with an address between them that is none
            assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> arena.alloc(1));
            assertThat(arena.stats().bytesHeld()).isEqualTo(3 * PAGE);
        }

        @Test
        void aDeviceThatHasNoLargeExtentsServesSmallOnes() {
            final FakePages few = new FakePages(PAGE, 11);
            final BfcArena arena = PagedArenas.create(few, 0, new CompactConfig(100, 0, 1, 1, 1000));
            final long address = arena.alloc(8 * PAGE);
            arena.alloc(PAGE);
            arena.free(address);
            arena.alloc(10 * PAGE);
            assertThat(few.livePages()).isEqualTo(11);
        }
    }

    @Nested
    class Moving {
        /** Sixteen pages in extents of one page each, of which every other one is idle. */
        private void makeHoles(BfcArena arena) {
            final long[] addresses = alloc(arena, 16, 1);
            for (int i = 0; i < 16; i += 2) {
                arena.free(addresses[i]);
            }
        }

        @Test
        void idleExtentsAreMappedSideBySide() {
            final BfcArena arena = arena(0);
            makeHoles(arena);
            arena.alloc(8 * PAGE);
            assertThat(arena.stats().bytesHeld()).isEqualTo(16 * PAGE);
            assertThat(PagedArenas.counter(arena, "NumExtentMoves")).isEqualTo(8);
            assertThat(PagedArenas.counter(arena, "NumDeniedMoves")).isZero();
        }

        @Test
        void frequentMovesWidenTheSlack() {
            final BfcArena arena = arena(25, MANY);
            final long[] addresses = alloc(arena, 200, 1);
            for (int i = 0; i < 200; i += 2) {
                arena.free(addresses[i]);
            }
            assertThat(PagedArenas.counter(arena, "PhysicalBytes")).isEqualTo(200 * PAGE);
            alloc(arena, 45, 2);
            assertThat(PagedArenas.counter(arena, "NumExtentMoves")).isEqualTo(32);
            assertThat(PagedArenas.counter(arena, "NumDeniedMoves")).isEqualTo(8);
            assertThat(PagedArenas.counter(arena, "PhysicalBytes")).isEqualTo(258 * PAGE);
        }

        /** Of ten pages of addresses, the last two show what is in use elsewhere. */
        @Test
        void anExtentThatIsTooLargeIsReplaced() {
            final BfcArena arena = arena(0);
            final long inPlace = arena.alloc(8 * PAGE);
            final long moved = arena.alloc(2 * PAGE);
            arena.alloc(PAGE);
            final long large = arena.alloc(8 * PAGE);
            arena.alloc(PAGE);
            arena.free(moved);
            arena.alloc(3 * PAGE);
            arena.free(inPlace);
            arena.free(large);
            assertThat(arena.stats().bytesHeld()).isEqualTo(21 * PAGE);
            assertThat(arena.alloc(10 * PAGE)).isEqualTo(inPlace);
            assertThat(arena.stats().bytesHeld()).isEqualTo(15 * PAGE);
            arena.checkConsistency();
        }

        @Test
        void anExtentInHandIsUsedByNoOther() {
            final BfcArena arena = arena(0);
            final long[] addresses = alloc(arena, 3, 1);
            arena.free(addresses[0]);
            arena.free(addresses[2]);
            final List<Throwable> thrown = new ArrayList<>();
            pages.before(call -> {
                if (call.equals("map")) {
                    try {
                        arena.alloc(PAGE);
                    } catch (IllegalStateException e) {
                        thrown.add(e);
                    }
                }
            });
            final long address = arena.alloc(2 * PAGE);
            assertThat(thrown).hasSize(1);
            assertThat(pages.pageAt(address)).isNotEqualTo(pages.pageAt(address + PAGE));
            assertThat(pages.pageAt(addresses[1])).isNotIn(pages.pageAt(address), pages.pageAt(address + PAGE));
            arena.checkConsistency();
        }
    }

    @Nested
    class Ending {
        @Test
        void mappingsOfNoUseAreEndedOutsideAShrink() {
            final BfcArena arena = arena(0);
            final Random random = new Random(1);
            final List<Long> live = new ArrayList<>();
            for (int i = 0; i < 20_000; i++) {
                if (live.size() > 20) {
                    arena.free(live.remove(random.nextInt(live.size())));
                } else {
                    live.add(arena.alloc(1 + random.nextInt(4 * PAGE)));
                }
            }
            assertThat(PagedArenas.counter(arena, "PeakMappedBytes"))
                    .isLessThan(2 * PagedArenas.counter(arena, "PeakPhysicalBytes"));
            assertThat(PagedArenas.counter(arena, "NumPageUnmaps")).isPositive();
        }

        @Test
        void whatCannotBeReleasedStays() {
            final BfcArena arena = arena(0);
            arena.free(arena.alloc(4 * PAGE));
            pages.failFrom(1, () -> new DeviceException("planned", null));
            assertThatExceptionOfType(DeviceException.class).isThrownBy(arena::shrink);
            pages.stopFailing();
            arena.checkConsistency();
            assertThat(arena.stats().bytesHeld()).isEqualTo(4 * PAGE);
            assertThat(arena.shrink().bytesHeld()).isZero();
        }
    }

    /** Threads that allocate and free while others call the device. */
    @Test
    void threadsShareNoPage() throws Exception {
        final BfcArena arena = arena(4);
        try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
            final List<Future<?>> results = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                final int seed = i;
                results.add(threads.submit(() -> work(arena, seed)));
            }
            for (Future<?> result : results) {
                result.get();
            }
        }
        arena.checkConsistency();
        arena.shrink();
        assertThat(arena.stats().bytesHeld()).isZero();
        arena.close();
        pages.requireEmpty();
    }

    private void work(BfcArena arena, int seed) {
        final Random random = new Random(seed);
        final List<Long> live = new ArrayList<>();
        for (int i = 0; i < 20_000; i++) {
            if (!live.isEmpty() && random.nextInt(10) < live.size()) {
                final long address = live.remove(random.nextInt(live.size()));
                assertThat(pages.read(address, Long.BYTES)).isEqualTo(mark(address));
                arena.free(address);
            } else {
                final long address = arena.alloc(Long.BYTES + random.nextInt(5 * PAGE));
                pages.write(address, mark(address));
                live.add(address);
            }
        }
        live.forEach(arena::free);
    }

    private static byte[] mark(long address) {
        return ByteBuffer.allocate(Long.BYTES).putLong(address).array();
    }
}
