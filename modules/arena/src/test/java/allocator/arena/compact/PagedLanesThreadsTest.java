package allocator.arena.compact;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.arena.BfcArena;
import allocator.arena.CompactConfig;
import allocator.arena.LaneMoves;
import allocator.spi.DeviceException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import allocator.testkit.Share;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Threads whose streams change lanes, beside one another under a limit that has room for what all of them ask for: no
 * request fails but by a call that was to fail, and what one writes no other changes.
 */
@Timeout(120)
class PagedLanesThreadsTest {
    private static final int PAGE = 4096;
    private static final int MANY = 1000;
    private static final int GRANULE = 256;
    private static final int PROGRAMS = Share.of(15);
    private static final int THREADS = 3;
    private static final int STEPS = 300;

    private static final List<Supplier<Throwable>> FAILURES = List.of(
            () -> new DeviceException("planned", null),
            () -> new OutOfMemoryException(
                    "planned", Shortage.ofDevice(FakeDevice.INFO, 1, OutOfMemoryException.UNKNOWN)),
            () -> new IllegalStateException("planned"),
            () -> new OutOfMemoryError("planned"),
            () -> new StackOverflowError("planned"));

    private record Block(long address, int byteSize, byte mark) {
        /** Returns the most pages that it may lie in. */
        static long pages(int byteSize) {
            return (byteSize + GRANULE - 1L) / GRANULE * GRANULE / PAGE + 2;
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void threadsShareALimit(boolean isFaulty) throws Exception {
        for (int seed = 0; seed < PROGRAMS; seed++) {
            new Program(seed, isFaulty).run();
        }
    }

    private static final class Program {
        private final Random random;
        private final boolean isFaulty;
        private final long maxPages;
        private final FakePages pages = new FakePages(PAGE, MANY);
        private final BfcArena arena;

        /** The pages that live blocks and requests may need. */
        private final AtomicLong needed = new AtomicLong();

        private final AtomicLong served = new AtomicLong();
        private final Queue<Block> shared = new ConcurrentLinkedQueue<>();

        Program(long seed, boolean isFaulty) {
            random = new Random(seed);
            this.isFaulty = isFaulty;
            maxPages = 10L + random.nextInt(50);
            final CompactConfig config = new CompactConfig(4, random.nextInt(3), Integer.MAX_VALUE, 1, 10);
            arena = PagedArenas.create(
                    new FakeDevice(), pages, maxPages * PAGE, 1 + random.nextInt(THREADS + 1), config);
        }

        void run() throws Exception {
            try (ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
                final List<Future<?>> results = new ArrayList<>();
                for (int i = 0; i < THREADS; i++) {
                    final Random ofThread = new Random(random.nextLong());
                    results.add(threads.submit(() -> work(ofThread)));
                }
                for (final Future<?> result : results) {
                    result.get();
                }
            }
            pages.stopFailing();
            shared.forEach(this::free);
            arena.checkConsistency();
            assertThat(arena.stats().numAllocs()).isEqualTo(served.get());
            assertThat(arena.stats().bytesInUse()).isZero();
            assertThat(arena.stats().bytesHeld()).isEqualTo((long) pages.livePages() * PAGE);
            assertThat(arena.stats().peakBytesHeld()).isLessThanOrEqualTo(maxPages * PAGE);
            assertThat(arena.shrink().bytesHeld()).isZero();
            arena.close();
            pages.requireEmpty();
        }

        private void work(Random random) {
            final List<FakeStream> streams = List.of(new FakeStream(pages.info()), new FakeStream(pages.info()));
            final List<Block> blocks = new ArrayList<>();
            for (int i = 0; i < STEPS; i++) {
                if (isFaulty && random.nextInt(10) == 0) {
                    plan(random);
                }
                final FakeStream stream = streams.get(random.nextInt(2));
                switch (random.nextInt(16)) {
                    case 0 -> attempt(arena::shrink);
                    case 1, 2 -> arena.endRun(stream);
                    case 3 -> LaneMoves.leaveMainLane(arena, stream);
                    case 4 -> stream.notifyAndWait(streams.get(random.nextInt(2)));
                    case 5 -> {
                        final Block block = shared.poll();
                        if (block != null) {
                            free(block);
                        }
                    }
                    case 6 -> {
                        if (!blocks.isEmpty()) {
                            shared.add(blocks.removeLast());
                        }
                    }
                    case 7, 8, 9, 10 -> {
                        if (!blocks.isEmpty()) {
                            free(blocks.remove(random.nextInt(blocks.size())));
                        }
                    }
                    default -> alloc(random, random.nextInt(4) == 0 ? null : stream, blocks);
                }
            }
            blocks.forEach(this::free);
            streams.forEach(arena::endRun);
        }

        private synchronized void plan(Random random) {
            final Supplier<Throwable> failure = FAILURES.get(random.nextInt(FAILURES.size()));
            pages.failuresTakeEffect(random.nextBoolean());
            switch (random.nextInt(3)) {
                case 0 -> pages.failAt(1 + random.nextInt(5), failure);
                case 1 -> pages.failFrom(1 + random.nextInt(5), failure);
                default -> pages.stopFailing();
            }
        }

        private void alloc(Random random, FakeStream stream, List<Block> blocks) {
            final int byteSize = 1 + random.nextInt(4 * PAGE);
            final long most = Block.pages(byteSize);
            if (needed.addAndGet(most) <= maxPages) {
                final long[] address = new long[1];
                attempt(() ->
                        address[0] = stream == null ? arena.alloc(byteSize) : arena.allocOnStream(byteSize, stream));
                if (address[0] != 0) {
                    served.incrementAndGet();
                    final Block block = new Block(address[0], byteSize, (byte) random.nextInt());
                    visit(block, (at, length) -> {
                        final byte[] marks = new byte[length];
                        Arrays.fill(marks, block.mark());
                        pages.write(at, marks);
                    });
                    blocks.add(block);
                    return;
                }
            }
            needed.addAndGet(-most);
        }

        private void attempt(Runnable call) {
            try {
                call.run();
            } catch (Throwable e) {
                if (!isFaulty || !(e instanceof OutOfMemoryException || "planned".equals(e.getMessage()))) {
                    throw new AssertionError(needed + " of " + maxPages + " pages are needed", e);
                }
            }
        }

        private void free(Block block) {
            visit(block, (at, length) -> {
                final byte[] marks = new byte[length];
                Arrays.fill(marks, block.mark());
                assertThat(pages.read(at, length)).as("what %s holds", block).isEqualTo(marks);
            });
            arena.free(block.address());
            needed.addAndGet(-Block.pages(block.byteSize()));
        }

        private interface PartVisitor {
            void visit(long address, int byteSize);
        }

        /** Visits the parts of a block that lie in one page each. */
        private static void visit(Block block, PartVisitor visitor) {
            final long end = block.address() + block.byteSize();
            for (long at = block.address(); at < end; at += PAGE - at % PAGE) {
                visitor.visit(at, (int) Math.min(end - at, PAGE - at % PAGE));
            }
        }
    }
}
