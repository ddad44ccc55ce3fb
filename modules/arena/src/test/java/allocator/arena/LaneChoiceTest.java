package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.arena.compact.FakePages;
import allocator.spi.AllocatorOptions;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** When an arena divides into lanes. */
@Timeout(120)
class LaneChoiceTest {
    private static final long MIB = 1 << 20;
    private static final long CAPACITY = 64 * MIB;

    private final FakeDevice device = new FakeDevice().capacity(CAPACITY);
    private final FakeStream first = new FakeStream();
    private final FakeStream second = new FakeStream();
    private final RequestingThread requesting = new RequestingThread();
    private BfcArena arena = create(Map.of());

    private BfcArena create(Map<String, String> options) {
        return new BfcArena(
                device, ArenaConfig.from(AllocatorOptions.of(options)).withKeepFirstRegion(false));
    }

    private void recreate(String key, long value) {
        arena = create(Map.of(key, Long.toString(value)));
    }

    private void leaveMainLane(FakeStream stream) {
        arena.lanes.choice.leaveMainLane(LaneChoice.requester(stream));
    }

    private boolean isInMainLane(long address) {
        return arena.lanes.at(address) == arena.lanes.main;
    }

    @Test
    void streamsThatTakeTurnsStayTogether() {
        for (int i = 0; i < 1000; i++) {
            final long one = arena.allocOnStream(1000, first);
            final long other = arena.allocOnStream(1000, second);
            arena.free(one);
            arena.free(other);
        }
        assertThat(arena.laneCount()).isEqualTo(1);
        assertThat(arena.stats().numArenaExtensions()).isEqualTo(1);
    }

    /** A thread that allocates on request. */
    private static final class RequestingThread implements AutoCloseable {
        private final AtomicReference<Thread> thread = new AtomicReference<>();
        private final ExecutorService executor = Executors.newSingleThreadExecutor(task -> {
            thread.set(Thread.ofPlatform().daemon().unstarted(task));
            return thread.get();
        });

        Future<Long> submit(Callable<Long> request) {
            return executor.submit(request);
        }

        void awaitParked() {
            while (thread.get().getState() != Thread.State.TIMED_WAITING) {
                Thread.onSpinWait();
            }
        }

        @Override
        public void close() {
            executor.shutdown();
        }
    }

    @AfterEach
    void end() {
        requesting.close();
    }

    /** Makes the other thread wait for the main lane with its request. */
    private long requestAndWait(Callable<Long> request) throws Exception {
        arena.lanes.main.lock.lock();
        final Future<Long> address;
        try {
            address = requesting.submit(request);
            requesting.awaitParked();
        } finally {
            arena.lanes.main.lock.unlock();
        }
        return address.get();
    }

    private void othersComeBetween() {
        arena.free(arena.allocOnStream(1000, second));
    }

    /** Statistics wait for the main lane when a second lane comes into being, which must count. */
    @Test
    void aLaneThatIsAddedMeanwhileIsLockedToo() throws Exception {
        final Future<Long> locked;
        arena.lanes.main.lock.lock();
        try {
            locked = requesting.submit(() -> arena.lanes.locked(each -> (long) each.size()));
            requesting.awaitParked();
            leaveMainLane(first);
        } finally {
            arena.lanes.main.lock.unlock();
        }
        assertThat(locked.get()).isEqualTo(2);
    }

    @Test
    void aStreamThatWaitsForOthersLeavesTheMainLane() throws Exception {
        for (int contention = 1; contention <= LaneChoice.CONTENTIONS; contention++) {
            assertThat(arena.laneCount()).isEqualTo(1);
            othersComeBetween();
            assertThat(isInMainLane(requestAndWait(() -> arena.allocOnStream(1000, first))))
                    .isTrue();
        }
        assertThat(arena.laneCount()).isEqualTo(2);
        assertThat(isInMainLane(arena.allocOnStream(1000, first))).isFalse();
        assertThat(isInMainLane(arena.allocOnStream(1000, second))).isTrue();
    }

    @Test
    void aThreadThatWaitsForOthersLeavesTheMainLane() throws Exception {
        for (int contention = 1; contention <= LaneChoice.CONTENTIONS; contention++) {
            othersComeBetween();
            assertThat(isInMainLane(requestAndWait(() -> arena.alloc(1000)))).isTrue();
        }
        assertThat(isInMainLane(requesting.submit(() -> arena.alloc(1000)).get()))
                .isFalse();
    }

    @Test
    void contentionCountsWithinASecondOnly() {
        final AtomicLong now = new AtomicLong();
        final Lanes lanes = new Lanes(device, null, ArenaConfig.DEFAULT);
        final LaneChoice choice = new LaneChoice(lanes, 0, now::get);
        for (int contention = 1; contention <= 10 * LaneChoice.CONTENTIONS; contention++) {
            choice.contended(lanes.main, 1);
            now.addAndGet(LaneChoice.WINDOW_NANOS / (LaneChoice.CONTENTIONS - 2));
        }
        assertThat(lanes.count()).isEqualTo(1);
        for (int contention = 1; contention <= 2 * LaneChoice.CONTENTIONS; contention++) {
            choice.contended(lanes.main, 1);
            now.addAndGet(LaneChoice.WINDOW_NANOS / LaneChoice.CONTENTIONS);
        }
        assertThat(choice.laneFor(1)).isNotSameAs(lanes.main);
    }

    private static void contend(LaneChoice choice, Lane lane, FakeStream stream) {
        for (int contention = 1; contention <= LaneChoice.CONTENTIONS; contention++) {
            choice.contended(lane, LaneChoice.requester(stream));
        }
    }

    private Lanes onPages() {
        return new Lanes(
                device,
                new FakePages(1 << 16, 1 << 10),
                ArenaConfig.DEFAULT.withPlacementPolicy(PlacementPolicy.COMPACT));
    }

    @Test
    void onPagesAStreamLeavesWhenItsRunEnds() {
        final AtomicLong now = new AtomicLong();
        final Lanes lanes = onPages();
        final LaneChoice choice = new LaneChoice(lanes, 0, now::get);
        contend(choice, lanes.main, first);
        contend(choice, lanes.main, second);
        assertThat(lanes.count()).isEqualTo(1);

        choice.runEnded(LaneChoice.requester(new FakeStream()));
        assertThat(lanes.count()).isEqualTo(1);
        choice.runEnded(LaneChoice.requester(first));
        assertThat(choice.laneFor(LaneChoice.requester(first))).isNotSameAs(lanes.main);

        choice.runEnded(LaneChoice.requester(second));
        assertThat(choice.laneFor(LaneChoice.requester(second)))
                .as("it has not contended since the other one left")
                .isSameAs(lanes.main);
        now.set(2 * LaneChoice.WINDOW_NANOS);
        contend(choice, lanes.main, second);
        assertThat(choice.laneFor(LaneChoice.requester(second)))
                .as("its run has not ended")
                .isSameAs(lanes.main);
    }

    @Test
    void onPagesAStreamLeavesAfterASecondWithoutTheEndOfARun() {
        final AtomicLong now = new AtomicLong();
        final Lanes lanes = onPages();
        final LaneChoice choice = new LaneChoice(lanes, 0, now::get);
        contend(choice, lanes.main, first);
        now.set(LaneChoice.WINDOW_NANOS);
        contend(choice, lanes.main, first);
        assertThat(lanes.count()).isEqualTo(1);
        now.incrementAndGet();
        contend(choice, lanes.main, first);
        assertThat(choice.laneFor(LaneChoice.requester(first))).isNotSameAs(lanes.main);
    }

    @Test
    void aRequesterThatWaitsForItselfStays() throws Exception {
        for (int wait = 1; wait <= 2 * LaneChoice.CONTENTIONS; wait++) {
            requestAndWait(() -> arena.allocOnStream(1000, first));
        }
        assertThat(arena.laneCount()).isEqualTo(1);
    }

    @Test
    void oneLaneIsNeverLeftIfNoMoreAreAllowed() throws Exception {
        recreate("arena.max_lanes", 1);
        for (int contention = 1; contention <= 2 * LaneChoice.CONTENTIONS; contention++) {
            othersComeBetween();
            requestAndWait(() -> arena.allocOnStream(1000, first));
        }
        leaveMainLane(first);
        assertThat(isInMainLane(arena.allocOnStream(1000, first))).isTrue();
        assertThat(arena.laneCount()).isEqualTo(1);
    }

    /** A copy of the table for each stream, or a look at all of it, would take minutes. */
    @Test
    @Timeout(60)
    void theTableOfRequestersShrinksWhenStreamsAreReleased() {
        final List<FakeStream> streams =
                Stream.generate(FakeStream::new).limit(200_000).toList();
        streams.forEach(this::leaveMainLane);
        assertThat(arena.lanes.choice.slots()).isGreaterThanOrEqualTo(2 * streams.size());
        assertThat(streams)
                .allMatch(stream -> arena.lanes.choice.laneFor(LaneChoice.requester(stream)) != arena.lanes.main);
        streams.forEach(arena::releaseStream);
        assertThat(arena.lanes.choice.slots()).isLessThanOrEqualTo(16);
        assertThat(streams)
                .allMatch(stream -> arena.lanes.choice.laneFor(LaneChoice.requester(stream)) == arena.lanes.main);
    }

    @Test
    void aTableOfRequestersThatComeAndGoStaysSmall() {
        for (int i = 0; i < 10_000; i++) {
            final FakeStream brief = new FakeStream();
            leaveMainLane(brief);
            arena.releaseStream(brief);
        }
        assertThat(arena.lanes.choice.slots()).isLessThanOrEqualTo(16);
    }

    /** Whether the arena divides depends on what runs at once; the counts do not. */
    @Test
    void manyThreadsNeverGetMoreLanesThanAllowed() throws InterruptedException {
        recreate("arena.max_lanes", 3);
        final AtomicReference<Throwable> failure = new AtomicReference<>();
        final Thread[] threads = new Thread[6];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = Thread.ofPlatform().start(() -> {
                try {
                    for (int k = 0; k < 20_000; k++) {
                        arena.free(arena.alloc(1000));
                    }
                } catch (Throwable e) {
                    failure.compareAndSet(null, e);
                }
            });
        }
        for (final Thread thread : threads) {
            thread.join();
        }
        assertThat(failure.get()).isNull();
        assertThat(arena.laneCount()).isLessThanOrEqualTo(3);
        assertThat(arena.stats().bytesInUse()).isZero();
        assertThat(arena.stats().numAllocs()).isEqualTo(6 * 20_000);
    }
}
