package allocator.conformance.rules.streams;

import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.rules.StreamReuse;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.ProviderFixture;
import allocator.conformance.subject.Subject;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import org.opentest4j.AssertionFailedError;

/** Chapter T: freed memory goes to another stream only in order (T-03), and streams are identified by id (T-07). */
public abstract class StreamOrderRules extends Chapter {
    /** The size of all blocks, so that a freed block is the best fit for the next request. */
    private static final long BLOCK = 64 * 1024;

    protected StreamOrderRules(ProviderFixture fixture) {
        super(fixture);
    }

    @ConformanceTest
    void required_T03_freedMemoryDoesNotGoToAStreamThatDidNotWait(Subject subject) {
        final StreamAwareAllocator allocator = subject.orderedByStreams();
        final SyncStream first = subject.stream();
        final SyncStream second = subject.stream();
        final long freed = allocator.allocOnStream(BLOCK, first);
        allocator.free(freed);
        StreamReuse.requireNotReused(
                allocator, freed, BLOCK, second, "a block was freed on a stream for which the other never waited");
    }

    @ConformanceTest
    void required_T03_freedMemoryDoesNotGoToAnAllocationWithoutStream(Subject subject) {
        final StreamAwareAllocator allocator = subject.orderedByStreams();
        final SyncStream first = subject.stream();
        final long freed = allocator.allocOnStream(BLOCK, first);
        allocator.free(freed);
        StreamReuse.requireNotReused(
                allocator, freed, BLOCK, null, "a block was freed on a stream that was not synchronized");
    }

    @ConformanceTest
    void required_T03_aWaitBeforeTheFreeDoesNotCount(Subject subject) {
        final StreamAwareAllocator allocator = subject.orderedByStreams();
        final SyncStream first = subject.stream();
        final SyncStream second = subject.stream();
        final long freed = allocator.allocOnStream(BLOCK, first);
        StreamReuse.order(first, second);
        allocator.free(freed);
        StreamReuse.requireNotReused(
                allocator,
                freed,
                BLOCK,
                second,
                "a block was taken, the second stream waited for the first, and only then the block was freed: what was"
                        + " queued between the wait and the free is not covered");
    }

    @ConformanceTest
    void required_T03_anEventRecordedBeforeTheFreeDoesNotCount(Subject subject) {
        final StreamAwareAllocator allocator = subject.orderedByStreams();
        final SyncStream first = subject.stream();
        final SyncStream second = subject.stream();
        final long freed = allocator.allocOnStream(BLOCK, first);
        try (SyncNotification notification = first.createNotification()) {
            notification.activate();
            allocator.free(freed);
            notification.waitOnDevice(second);
        }
        StreamReuse.requireNotReused(
                allocator,
                freed,
                BLOCK,
                second,
                "the event was recorded before the free, though it was waited for after it");
    }

    @ConformanceTest
    void required_T03_theEndOfARunBeforeTheFreeDoesNotCount(Subject subject) {
        final StreamAwareAllocator allocator = subject.orderedByStreams();
        final SyncStream first = subject.stream();
        final SyncStream second = subject.stream();
        final long freed = allocator.allocOnStream(BLOCK, first);
        first.onSessionRunEnd();
        allocator.free(freed);
        StreamReuse.requireNotReused(
                allocator,
                freed,
                BLOCK,
                second,
                "a block lived on over the end of a run and was freed later: what was queued on its stream "
                        + "since then is not"
                        + " covered");
    }

    @ConformanceTest
    void required_T03_aWaitIsOneWay(Subject subject) {
        final StreamAwareAllocator allocator = subject.orderedByStreams();
        final SyncStream first = subject.stream();
        final SyncStream second = subject.stream();
        final long freed = allocator.allocOnStream(BLOCK, first);
        allocator.free(freed);
        StreamReuse.order(second, first);
        StreamReuse.requireNotReused(
                allocator, freed, BLOCK, second, "a block was freed on a stream that then waited for the second");
    }

    @ConformanceTest
    void required_T03_eachBlockOfAMergedOneMustBeOrdered(Subject subject) {
        final StreamAwareAllocator allocator = subject.orderedByStreams();
        final SyncStream first = subject.stream();
        final SyncStream second = subject.stream();
        final SyncStream third = subject.stream();
        final List<Long> mine = new ArrayList<>();
        final List<Long> others = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            mine.add(allocator.allocOnStream(BLOCK, first));
            others.add(allocator.allocOnStream(BLOCK, second));
        }
        for (int i = 0; i < 8; i++) {
            allocator.free(mine.get(i));
            allocator.free(others.get(i));
        }
        StreamReuse.order(first, third);
        final long taken = allocator.allocOnStream(2 * BLOCK, third);
        for (final long freed : others) {
            Expect.that(
                    freed + BLOCK <= taken || taken + 2 * BLOCK <= freed,
                    "neighbours freed on two streams were merged; a third stream, which waited for one of the two only,"
                            + " got memory of both");
        }
        allocator.free(taken);
    }

    @ConformanceTest
    void required_T03_manyStreamsKeepApart(Subject subject) {
        final StreamAwareAllocator allocator = subject.orderedByStreams();
        final List<SyncStream> streams = new ArrayList<>();
        final List<Long> freed = new ArrayList<>();
        for (int i = 0; i < subject.times(100, 40); i++) {
            final SyncStream stream = subject.stream();
            streams.add(stream);
            final long address = allocator.allocOnStream(BLOCK, stream);
            for (final long other : freed) {
                Expect.that(
                        other + BLOCK <= address || address + BLOCK <= other,
                        "stream %d of many got memory that another had freed, and never waited for that one",
                        i + 1);
            }
            allocator.free(address);
            freed.add(address);
        }
        for (int i = 0; i < streams.size(); i++) {
            final long mine = freed.get(i);
            final long again = allocator.allocOnStream(BLOCK, streams.get(i));
            for (final long other : freed) {
                Expect.that(
                        other == mine || other + BLOCK <= again || again + BLOCK <= other,
                        "stream %d of many came back and got memory that another had freed",
                        i + 1);
            }
            allocator.free(again);
        }
    }

    @ConformanceTest
    void optional_T03_aWaitAfterTheFreeMakesMemoryAvailable(Subject subject) {
        final StreamAwareAllocator allocator = subject.streamAware(subject.allocator());
        StreamReuse.requireReuse(
                subject, allocator, "a wait after the free", (first, second) -> StreamReuse.order(first, second));
    }

    @ConformanceTest
    void optional_T03_aWaitThroughAThirdStreamMakesMemoryAvailable(Subject subject) {
        final StreamAwareAllocator allocator = subject.streamAware(subject.allocator());
        final SyncStream middle = subject.stream();
        StreamReuse.requireReuse(subject, allocator, "a wait through a third stream", (first, second) -> {
            StreamReuse.order(first, middle);
            StreamReuse.order(middle, second);
        });
    }

    @ConformanceTest
    void required_T07_identityRestsOnIdsNotOnHandles(Subject subject) {
        final StreamAwareAllocator allocator = subject.streamAware(subject.allocator());
        final SyncStream waiter = subject.stream();
        final SyncStream unknown = subject.stream();
        final SyncStream control = subject.stream();
        final long plain = allocator.allocOnStream(BLOCK, unknown);
        allocator.free(plain);
        try {
            StreamReuse.requireNotReused(
                    allocator, plain, BLOCK, control, "a block was freed on a stream that was never waited for");
        } catch (AssertionFailedError fault) {
            throw Expect.skip("memory goes to streams that never waited (T-03), with old handles or new");
        }
        unknown.onSessionRunEnd();
        control.onSessionRunEnd();
        final List<SyncStream> successors = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            final SyncStream old = subject.stream();
            StreamReuse.order(old, waiter);
            StreamReuse.order(old, waiter);
            StreamReuse.order(old, waiter);
            old.close();
            successors.add(subject.stream());
        }
        for (final SyncStream successor : successors) {
            final long freed = allocator.allocOnStream(BLOCK, successor);
            allocator.free(freed);
            StreamReuse.requireNotReused(
                    allocator,
                    freed,
                    BLOCK,
                    waiter,
                    "a stream was closed and a new one made, which may have its native handle; the waits for "
                            + "the old one"
                            + " do not count for the new one");
        }
    }
}
