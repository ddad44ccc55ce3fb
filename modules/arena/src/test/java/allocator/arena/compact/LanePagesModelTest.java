package allocator.arena.compact;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import allocator.arena.BfcArena;
import allocator.arena.CompactConfig;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import allocator.testkit.Share;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** Random programs on an arena, beside a model of every granule of every page. */
class LanePagesModelTest {
    private static final int PAGE = 4096;
    private static final int GRANULE = 256;
    private static final int PROGRAMS = Share.of(300);
    private static final int STEPS = 400;
    private static final int FEW_SIZES = 6;

    @Test
    void noGranuleIsUsedTwiceOrTooEarly() {
        for (int seed = 0; seed < PROGRAMS; seed++) {
            final int each = seed;
            assertThatCode(() -> new Program(each, false).run())
                    .as("seed %d", seed)
                    .doesNotThrowAnyException();
        }
    }

    @Test
    void nothingIsLostWhateverFails() {
        for (int seed = 0; seed < PROGRAMS; seed++) {
            final int each = seed;
            assertThatCode(() -> new Program(each, true).run())
                    .as("seed %d", seed)
                    .doesNotThrowAnyException();
        }
    }

    private static final List<Supplier<Throwable>> FAILURES = List.of(
            () -> new DeviceException("planned", null),
            () -> new OutOfMemoryException(
                    "planned", Shortage.ofDevice(FakeDevice.INFO, 1, OutOfMemoryException.UNKNOWN)),
            () -> new IllegalStateException("planned"),
            () -> new AssertionError("planned"),
            () -> new OutOfMemoryError("planned"),
            () -> new StackOverflowError("planned"));

    private record Block(long address, int byteSize, SyncStream stream) {}

    /** Who freed a granule last; it may be used by those who come after. */
    private record LastUse(SyncStream stream, long stamp) {
        boolean isBefore(SyncStream requester) {
            return stream == null
                    || (requester != null
                            && (requester.id() == stream.id() || requester.lastWaitedSyncId(stream) > stamp));
        }
    }

    @SuppressWarnings("ReferenceEquality") // a block and a stream are one object each
    private static final class Program {
        private final Random random;
        private final FakePages pages;
        private final BfcArena arena;
        private final long maxPages;
        private final List<FakeStream> streams = new ArrayList<>();
        private final List<Block> blocks = new ArrayList<>();
        private final Map<Long, LastUse[]> lastUses = new HashMap<>();

        /** The same by address, where an extent may only be unmapped once the work there is done. */
        private final Map<Long, LastUse[]> lastUsesAt = new HashMap<>();

        private final Map<Long, Block[]> users = new HashMap<>();
        private final int largest;

        private final boolean isFaulty;

        Program(long seed, boolean isFaulty) {
            this.isFaulty = isFaulty;
            random = new Random(seed);
            maxPages = 1L + random.nextInt(40);
            final boolean isLimited = random.nextBoolean();
            pages = new FakePages(PAGE, isLimited ? 1000 : maxPages);
            final int slack = List.of(0, 4, 50).get(random.nextInt(3));
            final CompactConfig config = switch (random.nextInt(4)) {
                case 0 -> new CompactConfig(slack, 4, 48, 5, 1000);
                case 1 -> new CompactConfig(slack, 0, 1, 1, 0);
                case 2 -> new CompactConfig(slack, 0, 4, 1, 1000);
                default -> new CompactConfig(slack, 1, 64, 1, 10);
            };
            arena = PagedArenas.create(pages, isLimited ? maxPages * PAGE : 0, config);
            for (int i = random.nextInt(4); i > 0; i--) {
                streams.add(new FakeStream(pages.info()));
            }
            largest = 1 << (8 + random.nextInt(9));
            pages.beforeUnmap(this::requireDone);
        }

        /** Requires that all work at the addresses of a page is done. */
        private void requireDone(long address) {
            streams.forEach(this::forgetIfFlushed);
            assertThat(lastUsesAt.getOrDefault(address, new LastUse[0]))
                    .as("work at 0x%x", address)
                    .allMatch(last -> last == null || last.stream() == null);
            lastUsesAt.remove(address);
            assertThat(blocks)
                    .as("blocks at 0x%x", address)
                    .noneMatch(
                            block -> block.address() < address + PAGE && address < block.address() + block.byteSize());
        }

        void run() {
            for (int i = 0; i < STEPS; i++) {
                if (isFaulty && random.nextInt(4) == 0) {
                    plan();
                }
                step();
                pages.stopFailing();
                arena.checkConsistency();
                checkStats();
            }
            while (!blocks.isEmpty()) {
                free(blocks.removeLast());
            }
            final ShrinkReport report = arena.shrink();
            assertThat(report.bytesHeld()).isZero();
            assertThat(pages.livePages()).isZero();
            arena.close();
            assertThat(pages.mappings()).isZero();
            assertThat(pages.ranges()).isZero();
        }

        private void plan() {
            final int call = 1 + random.nextInt(6);
            final Supplier<Throwable> failure = FAILURES.get(random.nextInt(FAILURES.size()));
            pages.failuresTakeEffect(random.nextBoolean());
            if (random.nextBoolean()) {
                pages.failAt(call, failure);
            } else {
                pages.failFrom(call, failure);
            }
        }

        /** Requires that a failure is one that was planned. */
        private void requirePlanned(Throwable thrown, long failuresBefore) {
            if (pages.failures() == failuresBefore) {
                throw new AssertionError("nothing was to fail", thrown);
            }
            streams.forEach(this::forgetIfFlushed);
        }

        private void step() {
            switch (random.nextInt(20)) {
                case 0 -> shrink();
                case 1, 2 -> {
                    if (!streams.isEmpty()) {
                        endRun(stream());
                    }
                }
                case 3, 4 -> {
                    if (streams.size() > 1) {
                        stream().notifyAndWait(stream());
                    }
                }
                case 5 -> {
                    if (!streams.isEmpty()) {
                        final FakeStream ending = streams.remove(random.nextInt(streams.size()));
                        arena.releaseStream(ending);
                        forget(ending);
                        blocks.replaceAll(block -> block.stream() == ending
                                ? replaced(block, new Block(block.address(), block.byteSize(), null))
                                : block);
                        streams.add(new FakeStream(pages.info()));
                    }
                }
                case 6, 7, 8, 9, 10, 11 -> {
                    if (!blocks.isEmpty()) {
                        free(blocks.remove(random.nextInt(blocks.size())));
                    }
                }
                default -> alloc();
            }
        }

        private Block replaced(Block old, Block block) {
            users.values().forEach(ofPage -> {
                for (int i = 0; i < ofPage.length; i++) {
                    ofPage[i] = ofPage[i] == old ? block : ofPage[i];
                }
            });
            return block;
        }

        private FakeStream stream() {
            return streams.get(random.nextInt(streams.size()));
        }

        private void alloc() {
            final int byteSize = random.nextBoolean()
                    ? 1 + random.nextInt(largest)
                    : (1 + random.nextInt(FEW_SIZES)) * largest / FEW_SIZES;
            final SyncStream stream = streams.isEmpty() || random.nextInt(4) == 0 ? null : stream();
            final long failures = pages.failures();
            final long address;
            try {
                address = stream == null ? arena.alloc(byteSize) : arena.allocOnStream(byteSize, stream);
            } catch (Throwable e) {
                if (!(e instanceof OutOfMemoryException) || pages.failures() > failures) {
                    requirePlanned(e, failures);
                    return;
                }
                final int used = pagesInUse();
                assertThat(maxPages - used)
                        .as("%d of %d pages are in use, %s, %s", used, maxPages, e, e.getCause())
                        .isLessThan((byteSize + PAGE - 1) / PAGE + 1);
                // Streams were waited for, if that could help.
                streams.forEach(this::forgetIfFlushed);
                return;
            }
            streams.forEach(this::forgetIfFlushed);
            final Block block = new Block(address, byteSize, stream);
            forEachGranule(block, (page, granule) -> {
                final Block[] ofPage = users.computeIfAbsent(page, each -> new Block[PAGE / GRANULE]);
                assertThat(ofPage[granule])
                        .as("the user of a granule of page %d", page)
                        .isNull();
                ofPage[granule] = block;
                final LastUse last = lastUses.computeIfAbsent(page, each -> new LastUse[PAGE / GRANULE])[granule];
                assertThat(last == null || last.isBefore(stream))
                        .as("a granule of page %d comes after %s for %s", page, last, stream)
                        .isTrue();
            });
            blocks.add(block);
        }

        private final Map<Long, Integer> flushes = new HashMap<>();

        /** A flush of a stream waits for all that it has freed. */
        private void forgetIfFlushed(FakeStream stream) {
            final int now = stream.flushes();
            if (flushes.getOrDefault(stream.id(), 0) != now) {
                flushes.put(stream.id(), now);
                forget(stream);
            }
        }

        private void free(Block block) {
            arena.free(block.address());
            final LastUse use = new LastUse(
                    block.stream(), block.stream() == null ? 0 : block.stream().syncId());
            forEachGranule(block, (page, granule) -> {
                users.get(page)[granule] = null;
                lastUses.get(page)[granule] = use;
            });
            for (long at = block.address(); at < block.address() + block.byteSize(); at += GRANULE) {
                lastUsesAt
                        .computeIfAbsent(at - at % PAGE, each -> new LastUse[PAGE / GRANULE])[
                        (int) (at % PAGE) / GRANULE] = use;
            }
        }

        private void endRun(FakeStream stream) {
            arena.endRun(stream);
            forget(stream);
        }

        /** Forgets the work of a stream that is done, and that of others for which it has waited. */
        private void forget(SyncStream stream) {
            lastUses.values().forEach(ofPage -> forget(ofPage, stream));
            lastUsesAt.values().forEach(ofPage -> forget(ofPage, stream));
        }

        private static void forget(LastUse[] uses, SyncStream stream) {
            for (int i = 0; i < uses.length; i++) {
                if (uses[i] != null && uses[i].isBefore(stream)) {
                    uses[i] = null;
                }
            }
        }

        private void shrink() {
            final long failures = pages.failures();
            final ShrinkReport report;
            try {
                report = arena.shrink();
            } catch (Throwable e) {
                requirePlanned(e, failures);
                return;
            }
            streams.forEach(this::forgetIfFlushed);
            if (pages.failures() == failures) {
                assertThat(pages.livePages()).as("pages after a shrink").isEqualTo(pagesInUse());
            }
            assertThat(report.bytesHeld()).isEqualTo((long) pages.livePages() * PAGE);
            lastUses.keySet().retainAll(pages.pages());
        }

        /** Returns how many pages the extents have that hold a live byte. */
        private int pagesInUse() {
            final Set<Long> used = new HashSet<>();
            blocks.forEach(block -> forEachGranule(block, (page, granule) -> used.add(pages.extentWith(page))));
            return used.stream().mapToInt(pages::sizeOf).sum();
        }

        private void checkStats() {
            final AllocatorStats stats = arena.stats();
            assertThat(stats.bytesHeld()).isEqualTo((long) pages.livePages() * PAGE);
            assertThat(stats.bytesHeld()).isLessThanOrEqualTo(maxPages * PAGE);
            assertThat(stats.requestedBytesInUse())
                    .isEqualTo(blocks.stream().mapToLong(Block::byteSize).sum());
        }

        private interface GranuleVisitor {
            void visit(long page, int granule);
        }

        private void forEachGranule(Block block, GranuleVisitor visitor) {
            for (long at = block.address(); at < block.address() + block.byteSize(); at += GRANULE) {
                final long page = pages.pageAt(at);
                assertThat(page).as("the page at 0x%x", at).isNotNegative();
                visitor.visit(page, (int) (at % PAGE) / GRANULE);
            }
        }

        @Override
        public String toString() {
            return Arrays.toString(blocks.toArray());
        }
    }
}
