package allocator.arena.compact;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import allocator.arena.BfcArena;
import allocator.arena.CompactConfig;
import allocator.arena.LaneMoves;
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
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.Supplier;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Random programs on several lanes that take extents over from one another, beside a model of every granule of every
 * page. Streams and a thread change lanes, reserves share the limit, and what each shortage says is tried.
 */
class PagedLanesModelTest {
    private static final int PAGE = 4096;
    private static final int GRANULE = 256;
    private static final int PROGRAMS = Share.of(20);
    private static final int STEPS = 300;

    enum Kind {
        PLAIN,
        FAULTY,
        FEW_MAPPINGS
    }

    private static final List<Supplier<Throwable>> FAILURES = List.of(
            () -> new DeviceException("planned", null),
            PagedLanesModelTest::shortage,
            () -> new IllegalStateException("planned"),
            () -> new OutOfMemoryError("planned"),
            () -> new StackOverflowError("planned"));

    private static OutOfMemoryException shortage() {
        return new OutOfMemoryException("planned", Shortage.ofDevice(FakeDevice.INFO, 1, OutOfMemoryException.UNKNOWN));
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void lanesShareWhatTheyHold(Kind kind) {
        for (int seed = 0; seed < PROGRAMS; seed++) {
            final int each = seed;
            assertThatCode(() -> new Program(each, kind).run())
                    .as("seed %d", seed)
                    .doesNotThrowAnyException();
        }
    }

    private record Block(long address, long byteSize, SyncStream stream) {
        long rounded() {
            return (byteSize + GRANULE - 1) / GRANULE * GRANULE;
        }
    }

    /** A part of a page. */
    private record Granule(long page, int index) {}

    /** Who freed a granule last; it may be used by those who come after. */
    private record LastUse(SyncStream stream, long stamp) {
        boolean isBefore(SyncStream requester) {
            return stream == null
                    || (requester != null
                            && (requester.id() == stream.id() || requester.lastWaitedSyncId(stream) > stamp));
        }
    }

    private static final class Program {
        private final Random random;
        private final Kind kind;
        private final long limit;
        private final FakePages pages;
        private final FakeDevice device = new FakeDevice();
        private final BfcArena arena;
        private final long mostMappings;
        private final int largest;
        private final List<FakeStream> streams = new ArrayList<>();
        private final Map<Long, Integer> flushes = new HashMap<>();
        private final List<Block> blocks = new ArrayList<>();
        private final List<Block> reserves = new ArrayList<>();
        private final Map<Granule, Block> users = new HashMap<>();
        private final Map<Granule, LastUse> lastUses = new HashMap<>();
        private long failedFlushes;
        private boolean flushesFail;

        Program(long seed, Kind kind) {
            random = new Random(seed);
            this.kind = kind;
            final int maxPages = 2 + random.nextInt(40);
            limit = (long) maxPages * PAGE - random.nextInt(PAGE);
            pages = new FakePages(PAGE, 1000);
            mostMappings = maxPages + 1L;
            final int slack = List.of(0, 4, 50).get(random.nextInt(3));
            final CompactConfig config = switch (random.nextInt(3)) {
                case 0 -> new CompactConfig(slack, 4, 48, 5, 1000);
                case 1 -> new CompactConfig(slack, 0, 1, 1, 0);
                default -> new CompactConfig(slack, 1, 64, 1, 10);
            };
            arena = PagedArenas.create(device, pages, limit, 2 + random.nextInt(3), config);
            for (int i = 1 + random.nextInt(3); i > 0; i--) {
                addStream();
            }
            largest = 1 << (8 + random.nextInt(8));
            if (kind == Kind.FEW_MAPPINGS) {
                pages.before(this::limitMappings);
            }
        }

        private void limitMappings(String call) {
            if (call.equals("map") && pages.mappings() >= mostMappings) {
                throw shortage();
            }
        }

        private void addStream() {
            streams.add(new FakeStream(pages.info()).before(call -> {
                if (call.equals("flush") && flushesFail) {
                    failedFlushes++;
                    throw new DeviceException("planned", null);
                }
            }));
        }

        void run() {
            for (int i = 0; i < STEPS; i++) {
                if (kind == Kind.FAULTY && random.nextInt(4) == 0) {
                    plan();
                }
                step();
                pages.stopFailing();
                flushesFail = false;
                arena.checkConsistency();
                checkStats();
            }
            blocks.forEach(block -> arena.free(block.address()));
            reserves.forEach(block -> arena.free(block.address()));
            assertThat(arena.shrink().bytesHeld()).isZero();
            arena.close();
            pages.requireEmpty();
            assertThat(device.liveBytes()).isZero();
        }

        private void plan() {
            final int call = 1 + random.nextInt(6);
            final Supplier<Throwable> failure = FAILURES.get(random.nextInt(FAILURES.size()));
            flushesFail = random.nextInt(4) == 0;
            pages.failuresTakeEffect(random.nextBoolean());
            if (random.nextBoolean()) {
                pages.failAt(call, failure);
            } else {
                pages.failFrom(call, failure);
            }
        }

        private long failures() {
            return pages.failures() + failedFlushes;
        }

        private void step() {
            final FakeStream stream = streams.get(random.nextInt(streams.size()));
            switch (random.nextInt(20)) {
                case 0 -> shrink();
                case 1, 2 -> endRun(stream);
                case 3 -> stream.notifyAndWait(streams.get(random.nextInt(streams.size())));
                case 4 -> LaneMoves.leaveMainLane(arena, stream);
                case 5 -> LaneMoves.leaveMainLane(arena);
                case 6 -> reserve();
                case 7 -> {
                    if (!reserves.isEmpty()) {
                        arena.free(reserves.removeLast().address());
                    }
                }
                case 8, 9, 10, 11, 12 -> {
                    if (!blocks.isEmpty()) {
                        free(blocks.remove(random.nextInt(blocks.size())));
                    }
                }
                default -> alloc(1 + random.nextInt(largest), random.nextInt(4) == 0 ? null : stream);
            }
        }

        private interface Allocation {
            long allocate();
        }

        /** Returns the address, 0 if the request failed as was planned; throws a shortage of another kind. */
        private long attempt(Allocation allocation) {
            final long before = failures();
            try {
                return allocation.allocate();
            } catch (Throwable e) {
                if (failures() > before) {
                    return 0;
                }
                if (e instanceof OutOfMemoryException shortage) {
                    throw shortage;
                }
                throw new AssertionError("nothing was to fail", e);
            } finally {
                streams.forEach(this::forgetIfFlushed);
            }
        }

        private void alloc(long byteSize, SyncStream stream) {
            final AllocatorStats before = arena.stats();
            final long address;
            try {
                address = attempt(() -> stream == null ? arena.alloc(byteSize) : arena.allocOnStream(byteSize, stream));
            } catch (OutOfMemoryException e) {
                checkShortage(before, byteSize, stream, e);
                return;
            }
            if (address != 0) {
                add(new Block(address, byteSize, stream));
            }
        }

        private void checkShortage(AllocatorStats before, long byteSize, SyncStream stream, OutOfMemoryException e) {
            final long needed = (byteSize + PAGE - 1) / PAGE + 1;
            final Set<Long> used = extentsInUse();
            if (kind != Kind.FEW_MAPPINGS || used.size() + needed <= mostMappings) {
                assertThat((limit - sizeOf(used) - reserved()) / PAGE)
                        .as("pages for %s, %s", e, e.getCause())
                        .isLessThan(needed);
            }
            final AllocatorStats now = arena.stats();
            assertThat(now.bytesHeld()).isLessThanOrEqualTo(before.bytesHeld());
            assertThat(now.numFailedAllocs()).isEqualTo(before.numFailedAllocs() + 1);
            final long granted = e.shortage().largestFree();
            if (kind == Kind.PLAIN && granted > 0) {
                alloc(granted, stream);
                assertThat(arena.stats().numFailedAllocs()).isEqualTo(now.numFailedAllocs());
            }
        }

        private void reserve() {
            final long byteSize = 1L + random.nextInt(3 * PAGE);
            try {
                final long address = attempt(() -> arena.reserve(byteSize));
                if (address != 0) {
                    reserves.add(new Block(address, byteSize, null));
                }
            } catch (OutOfMemoryException e) {
                assertThat(limit - sizeOf(extentsInUse()) - reserved()).isLessThan(byteSize);
            }
        }

        private void add(Block block) {
            granulesOf(block).forEach(granule -> {
                assertThat(users.put(granule, block))
                        .as("the user of %s", granule)
                        .isNull();
                final LastUse last = lastUses.get(granule);
                assertThat(last == null || last.isBefore(block.stream()))
                        .as("%s comes after %s for %s", granule, last, block.stream())
                        .isTrue();
            });
            blocks.add(block);
        }

        private void free(Block block) {
            final SyncStream stream = block.stream();
            granulesOf(block).forEach(granule -> {
                users.remove(granule);
                lastUses.put(granule, new LastUse(stream, stream == null ? 0 : stream.syncId()));
            });
            arena.free(block.address());
        }

        private List<Granule> granulesOf(Block block) {
            final List<Granule> granules = new ArrayList<>();
            for (long at = block.address(); at < block.address() + block.byteSize(); at += GRANULE) {
                final long page = pages.pageAt(at);
                assertThat(page).as("the page at 0x%x", at).isNotNegative();
                granules.add(new Granule(page, (int) (at % PAGE) / GRANULE));
            }
            return granules;
        }

        private void endRun(FakeStream stream) {
            arena.endRun(stream);
            forget(stream);
        }

        /** A flush of a stream waits for all that it has freed. */
        private void forgetIfFlushed(FakeStream stream) {
            final Integer now = stream.flushes();
            if (!now.equals(flushes.put(stream.id(), now))) {
                forget(stream);
            }
        }

        private void forget(SyncStream stream) {
            lastUses.values().removeIf(last -> last.isBefore(stream));
        }

        private void shrink() {
            final long failures = failures();
            final long before = pages.livePages();
            final ShrinkReport[] report = new ShrinkReport[1];
            attempt(() -> {
                report[0] = arena.shrink();
                return 0;
            });
            if (failures() == failures) {
                assertThat((long) pages.livePages() * PAGE).isEqualTo(sizeOf(extentsInUse()));
                assertThat(report[0].bytesReleased()).isEqualTo((before - pages.livePages()) * PAGE);
                assertThat(report[0].bytesHeld()).isEqualTo((long) pages.livePages() * PAGE + reserved());
            }
            final Set<Long> live = pages.pages();
            lastUses.keySet().removeIf(granule -> !live.contains(granule.page()));
        }

        private Set<Long> extentsInUse() {
            final Set<Long> used = new HashSet<>();
            users.keySet().forEach(granule -> used.add(pages.extentWith(granule.page())));
            return used;
        }

        private long sizeOf(Set<Long> extents) {
            return extents.stream().mapToLong(pages::sizeOf).sum() * PAGE;
        }

        private long reserved() {
            return reserves.stream().mapToLong(Block::byteSize).sum();
        }

        private void checkStats() {
            final AllocatorStats stats = arena.stats();
            final long physical = (long) pages.livePages() * PAGE;
            assertThat(stats.bytesHeld()).isEqualTo(physical + reserved()).isLessThanOrEqualTo(limit);
            assertThat(stats.peakBytesHeld()).isBetween(stats.bytesHeld(), limit);
            assertThat(stats.bytesInUse())
                    .isEqualTo(blocks.stream().mapToLong(Block::rounded).sum() + reserved())
                    .isLessThanOrEqualTo(stats.peakBytesInUse());
            assertThat(stats.requestedBytesInUse())
                    .isEqualTo(blocks.stream().mapToLong(Block::byteSize).sum() + reserved());
            assertThat(PagedArenas.counter(arena, "PhysicalBytes")).isEqualTo(physical);
            assertThat(PagedArenas.counter(arena, "IdleBytes")).isEqualTo(physical - sizeOf(extentsInUse()));
            assertThat(stats.numArenaExtensions())
                    .isEqualTo(pages.pages().stream()
                            .filter(page -> pages.extentWith(page) == page)
                            .count());
        }
    }
}
