package allocator.conformance.rules.streams;

import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.rules.FreedMemory;
import allocator.conformance.rules.StreamReuse;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.opentest4j.AssertionFailedError;

/** Chapter T: freed memory goes to another stream only in order (T-03), and streams are identified by id (T-07). */
public abstract class StreamOrderRules extends Chapter {
    /** The size of all blocks, so that a freed block is the best fit for the next request. */
    private static final long BLOCK = 64 * 1024;

    @ConformanceTest
    void required_T03_freedMemoryDoesNotGoToAStreamThatDidNotWait(Subject subject) {
        final StreamAwareAllocator allocator = subject.orderedByStreams();
        final SyncStream first = subject.stream();
        final SyncStream second = subject.stream();
        final FreedMemory freed = new FreedMemory(subject, allocator);
        freed.free(allocator.allocOnStream(BLOCK, first), BLOCK, first);
        freed.requireNotReused(BLOCK, second, "a block was freed on a stream for which the other never waited");
    }

    @ConformanceTest
    void required_T03_freedMemoryDoesNotGoToAnAllocationWithoutStream(Subject subject) {
        final StreamAwareAllocator allocator = subject.orderedByStreams();
        final SyncStream first = subject.stream();
        final FreedMemory freed = new FreedMemory(subject, allocator);
        freed.free(allocator.allocOnStream(BLOCK, first), BLOCK, first);
        freed.requireNotReused(BLOCK, null, "a block was freed on a stream that was not synchronized");
    }

    @ConformanceTest
    void required_T03_aWaitBeforeTheFreeDoesNotCount(Subject subject) {
        final StreamAwareAllocator allocator = subject.orderedByStreams();
        final SyncStream first = subject.stream();
        final SyncStream second = subject.stream();
        final FreedMemory freed = new FreedMemory(subject, allocator);
        final long block = allocator.allocOnStream(BLOCK, first);
        StreamReuse.order(first, second);
        freed.free(block, BLOCK, first);
        freed.requireNotReused(
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
        final FreedMemory freed = new FreedMemory(subject, allocator);
        final long block = allocator.allocOnStream(BLOCK, first);
        try (SyncNotification notification = first.createNotification()) {
            notification.activate();
            freed.free(block, BLOCK, first);
            notification.waitOnDevice(second);
        }
        freed.requireNotReused(
                BLOCK, second, "the event was recorded before the free, though it was waited for after it");
    }

    @ConformanceTest
    void required_T03_theEndOfARunBeforeTheFreeDoesNotCount(Subject subject) {
        final StreamAwareAllocator allocator = subject.orderedByStreams();
        final SyncStream first = subject.stream();
        final SyncStream second = subject.stream();
        final FreedMemory freed = new FreedMemory(subject, allocator);
        final long block = allocator.allocOnStream(BLOCK, first);
        first.onSessionRunEnd();
        freed.free(block, BLOCK, first);
        freed.requireNotReused(
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
        final FreedMemory freed = new FreedMemory(subject, allocator);
        freed.free(allocator.allocOnStream(BLOCK, first), BLOCK, first);
        StreamReuse.order(second, first);
        freed.requireNotReused(BLOCK, second, "a block was freed on a stream that then waited for the second");
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
        final FreedMemory freed = new FreedMemory(subject, allocator);
        for (int i = 0; i < 8; i++) {
            allocator.free(mine.get(i));
            freed.free(others.get(i), BLOCK, second);
        }
        StreamReuse.order(first, third);
        final long taken = freed.allocate(2 * BLOCK, third);
        freed.requireApart(
                taken,
                2 * BLOCK,
                third,
                "neighbours freed on two streams were merged; a third stream, which waited for one of the two only,"
                        + " got memory of both");
        allocator.free(taken);
    }

    @ConformanceTest
    void required_T03_whatIsSplitOffFreedMemoryKeepsItsOrder(Subject subject) {
        final StreamAwareAllocator allocator = subject.orderedByStreams();
        final SyncStream first = subject.stream();
        final SyncStream second = subject.stream();
        for (final long parts : new long[] {3, 8, 16}) {
            final long whole = allocator.allocOnStream(parts * BLOCK, first);
            StreamReuse.order(first, second);
            final FreedMemory freed = new FreedMemory(subject, allocator);
            freed.free(whole, parts * BLOCK, first);
            final long cut = freed.allocate(BLOCK / 4, first);
            freed.requireNotReused(
                    BLOCK,
                    second,
                    "a stream waited for another, which then freed a block and took a small one again, perhaps of it");
            allocator.free(cut);
            first.onSessionRunEnd();
            second.onSessionRunEnd();
        }
    }

    /** What is left over may become part of a block, if the requester may use it. */
    @ConformanceTest
    void required_T03_whatABlockIsPaddedWithKeepsItsOrder(Subject subject) {
        final StreamAwareAllocator allocator = subject.orderedByStreams();
        final SyncStream first = subject.stream();
        final SyncStream second = subject.stream();
        for (final long parts : new long[] {2, 4, 8}) {
            final long own = allocator.allocOnStream(parts * BLOCK, first);
            final long neighbour = allocator.allocOnStream(BLOCK, second);
            final long fence = allocator.alloc(BLOCK);
            final FreedMemory freed = new FreedMemory(subject, allocator);
            allocator.free(own);
            freed.free(neighbour, BLOCK, second);
            allocator.free(freed.allocate(parts * BLOCK, first));
            freed.requireNotReused(
                    BLOCK,
                    first,
                    "blocks of two streams, perhaps neighbours, were freed; the first one took a block as large as its"
                            + " own, and freed it");
            allocator.free(fence);
            first.onSessionRunEnd();
            second.onSessionRunEnd();
        }
    }

    @ConformanceTest
    void required_T03_manyStreamsKeepApart(Subject subject) {
        final StreamAwareAllocator allocator = subject.orderedByStreams();
        final List<SyncStream> streams = new ArrayList<>();
        final FreedMemory freed = new FreedMemory(subject, allocator);
        for (int i = 0; i < subject.times(100, 40); i++) {
            final Optional<SyncStream> further = subject.furtherStream(subject.memory());
            if (further.isEmpty()) {
                break;
            }
            streams.add(further.get());
            requireApart(freed, further.get(), "stream " + (i + 1) + " of many got memory that another had freed");
        }
        for (int i = 0; i < streams.size(); i++) {
            requireApart(
                    freed,
                    streams.get(i),
                    "stream " + (i + 1) + " of many came back and got memory that another had freed");
        }
    }

    private static void requireApart(FreedMemory freed, SyncStream stream, String fault) {
        final long address = freed.allocate(BLOCK, stream);
        freed.requireApart(address, BLOCK, stream, "%s, and never waited for that one", fault);
        freed.free(address, BLOCK, stream);
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
        final FreedMemory plain = new FreedMemory(subject, allocator);
        plain.free(allocator.allocOnStream(BLOCK, unknown), BLOCK, unknown);
        try {
            plain.requireNotReused(BLOCK, control, "a block was freed on a stream that was never waited for");
        } catch (AssertionFailedError fault) {
            throw Expect.skip("memory goes to streams that never waited (T-03), with old handles or new");
        }
        unknown.onSessionRunEnd();
        control.onSessionRunEnd();
        final List<SyncStream> successors = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            final Optional<SyncStream> further = subject.furtherStream(subject.memory());
            if (further.isEmpty()) {
                break;
            }
            final SyncStream old = further.get();
            StreamReuse.order(old, waiter);
            StreamReuse.order(old, waiter);
            StreamReuse.order(old, waiter);
            old.close();
            successors.add(subject.stream());
        }
        if (successors.isEmpty()) {
            throw Expect.skip("the device has no fourth stream");
        }
        for (final SyncStream successor : successors) {
            final FreedMemory freed = new FreedMemory(subject, allocator);
            freed.free(allocator.allocOnStream(BLOCK, successor), BLOCK, successor);
            freed.requireNotReused(
                    BLOCK,
                    waiter,
                    "a stream was closed and a new one made, which may have its native handle; the waits for "
                            + "the old one"
                            + " do not count for the new one");
        }
    }
}
