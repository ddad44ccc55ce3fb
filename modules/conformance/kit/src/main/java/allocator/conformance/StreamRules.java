package allocator.conformance;

import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.DataTransfer;
import allocator.spi.MemoryRange;
import allocator.spi.OutOfMemoryException;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import org.opentest4j.AssertionFailedError;

/** Chapter T: memory goes from stream to stream only in good order. */
abstract class StreamRules extends Chapter {
    private static final long MIB = 1 << 20;

    /** Of one size, so that what is freed is the best fit for what comes next. */
    private static final long BLOCK = 64 * 1024;

    StreamRules(Kit kit) {
        super(kit);
    }

    /** Makes {@code consumer} wait for everything that was submitted to {@code producer} so far. */
    static void order(SyncStream producer, SyncStream consumer) {
        try (SyncNotification notification = producer.createNotification()) {
            notification.activate();
            notification.waitOnDevice(consumer);
        }
    }

    /**
     * Allocates on a stream, or without one, until memory other than the freed block must have been used; frees it all.
     */
    private static void requireNotReused(
            StreamAwareAllocator allocator, long freed, long byteSize, @Nullable SyncStream user, String story) {
        final List<Long> taken = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            final long address = user == null ? allocator.alloc(byteSize) : allocator.allocOnStream(byteSize, user);
            taken.add(address);
            if (address < freed + byteSize && freed < address + byteSize) {
                taken.forEach(allocator::free);
                Expect.that(
                        false,
                        "%s; then %d bytes at %s went to %s, while work of the first stream may still use them",
                        story,
                        byteSize,
                        Expect.hex(freed),
                        user == null ? "an allocation without a stream, which any stream may use" : "another stream");
            }
        }
        taken.forEach(allocator::free);
    }

    @ConformanceTest
    void required_T01_freeWhileWorkIsQueuedIsSafe(Subject subject) {
        final StreamAwareAllocator allocator = subject.streamAware(subject.allocator());
        final DataTransfer transfer = Contents.transfer(subject, subject.memory())
                .orElseThrow(() -> Expect.skip("needs copies between host and device, to queue work"));
        final SyncStream stream = subject.stream();
        subject.probe().ifPresent(probe -> probe.lag(true));
        try (Arena lifetime = Arena.ofConfined()) {
            final MemorySegment source = lifetime.allocate(BLOCK, 64);
            final MemorySegment target = lifetime.allocate(BLOCK, 64);
            Contents.write(source, 11);
            for (int i = 0; i < 20; i++) {
                final long address = allocator.allocOnStream(BLOCK, stream);
                final MemoryRange block = new MemoryRange(subject.memory(), address, BLOCK);
                transfer.copy(new MemoryRange(Contents.HOST, source.address(), BLOCK), block, stream);
                transfer.copy(block, new MemoryRange(Contents.HOST, target.address(), BLOCK), stream);
                allocator.free(address);
            }
            stream.flush();
            Contents.difference(target, 11)
                    .ifPresent(fault -> Expect.that(
                            false,
                            "copied to a block and back on one stream, and freed while both were queued: %s",
                            fault));
        }
    }

    @ConformanceTest
    void required_T03_freedMemoryDoesNotGoToAStreamThatDidNotWait(Subject subject) {
        final StreamAwareAllocator allocator = subject.orderedByStreams();
        final SyncStream first = subject.stream();
        final SyncStream second = subject.stream();
        final long freed = allocator.allocOnStream(BLOCK, first);
        allocator.free(freed);
        requireNotReused(
                allocator, freed, BLOCK, second, "a block was freed on a stream for which the other never waited");
    }

    @ConformanceTest
    void required_T03_freedMemoryDoesNotGoToAnAllocationWithoutStream(Subject subject) {
        final StreamAwareAllocator allocator = subject.orderedByStreams();
        final SyncStream first = subject.stream();
        final long freed = allocator.allocOnStream(BLOCK, first);
        allocator.free(freed);
        requireNotReused(allocator, freed, BLOCK, null, "a block was freed on a stream that was not synchronized");
    }

    @ConformanceTest
    void required_T03_aWaitBeforeTheFreeDoesNotCount(Subject subject) {
        final StreamAwareAllocator allocator = subject.orderedByStreams();
        final SyncStream first = subject.stream();
        final SyncStream second = subject.stream();
        final long freed = allocator.allocOnStream(BLOCK, first);
        order(first, second);
        allocator.free(freed);
        requireNotReused(
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
        requireNotReused(
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
        requireNotReused(
                allocator,
                freed,
                BLOCK,
                second,
                "a block lived on over the end of a run and was freed later: what was queued on its stream since then is not"
                        + " covered");
    }

    @ConformanceTest
    void required_T03_aWaitIsOneWay(Subject subject) {
        final StreamAwareAllocator allocator = subject.orderedByStreams();
        final SyncStream first = subject.stream();
        final SyncStream second = subject.stream();
        final long freed = allocator.allocOnStream(BLOCK, first);
        allocator.free(freed);
        order(second, first);
        requireNotReused(
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
        order(first, third);
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
    void required_A05_whatNoStreamUsedServesEveryStream(Subject subject) {
        final StreamAwareAllocator allocator = subject.streamAware(subject.limited(16 * MIB));
        Subject.requireOwnOrder(allocator);
        final long unit = subject.limitOf(allocator) / 16;
        allocator.free(allocator.alloc(16 * unit));
        final SyncStream first = subject.stream();
        final SyncStream second = subject.stream();
        final long before = allocator.alloc(3 * unit);
        final long used;
        final long usedToo;
        try {
            used = allocator.allocOnStream(unit, first);
            usedToo = allocator.allocOnStream(unit, first);
        } catch (OutOfMemoryException e) {
            throw Expect.skip("a stream finds no room where an allocation without one does; T-08 tells why");
        }
        allocator.free(before);
        allocator.free(used);
        allocator.free(usedToo);
        final List<Long> taken = new ArrayList<>();
        for (final long byteSize : new long[] {3 * unit, 11 * unit}) {
            try {
                taken.add(allocator.allocOnStream(byteSize, second));
            } catch (OutOfMemoryException e) {
                throw Expect.broken(
                        "a stream used 2 sixteenths of the limit, and freed them; another stream was refused "
                                + byteSize / unit + " of the 14 that no stream has used: " + e.getMessage(),
                        e);
            }
        }
        taken.forEach(allocator::free);
    }

    @ConformanceTest
    void required_T03_manyStreamsKeepApart(Subject subject) {
        final StreamAwareAllocator allocator = subject.orderedByStreams();
        final List<SyncStream> streams = new ArrayList<>();
        final List<Long> freed = new ArrayList<>();
        for (int i = 0; i < subject.settings().times(100, 40); i++) {
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
        requireReuse(subject, allocator, "a wait after the free", (first, second) -> order(first, second));
    }

    @ConformanceTest
    void optional_T03_aWaitThroughAThirdStreamMakesMemoryAvailable(Subject subject) {
        final StreamAwareAllocator allocator = subject.streamAware(subject.allocator());
        final SyncStream middle = subject.stream();
        requireReuse(subject, allocator, "a wait through a third stream", (first, second) -> {
            order(first, middle);
            order(middle, second);
        });
    }

    @ConformanceTest
    void required_T04_theEndOfARunMakesMemoryAvailable(Subject subject) {
        final StreamAwareAllocator allocator = subject.streamAware(subject.allocator());
        requireReuse(subject, allocator, "the end of a run", (first, _) -> first.onSessionRunEnd());
    }

    @ConformanceTest
    void required_T04_runsThatHopStreamsDoNotHoldMoreAndMore(Subject subject) {
        final StreamAwareAllocator allocator = subject.streamAware(subject.allocator());
        subject.stats(allocator);
        final List<SyncStream> streams = List.of(subject.stream(), subject.stream(), subject.stream());
        long afterOne = 0;
        for (int run = 0; run < 60; run++) {
            final SyncStream stream = streams.get(run % streams.size());
            final List<Long> live = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                live.add(allocator.allocOnStream(MIB, stream));
            }
            live.forEach(allocator::free);
            stream.onSessionRunEnd();
            if (run == 0) {
                afterOne = allocator.stats().bytesHeld();
            }
        }
        Expect.that(
                allocator.stats().bytesHeld() <= 2 * afterOne,
                "60 equal runs on three streams held %d bytes at the end, %d after the first: what was freed on a"
                        + " stream was not untied when its run ended",
                allocator.stats().bytesHeld(),
                afterOne);
    }

    @ConformanceTest
    void required_T05_closingAStreamLosesNoMemory(Subject subject) {
        final StreamAwareAllocator allocator = subject.streamAware(subject.allocator());
        requireReuse(subject, allocator, "the close of the stream", (first, _) -> first.close());
        subject.stats(allocator);
        long afterThree = 0;
        for (int i = 0; i < 60; i++) {
            final SyncStream stream = subject.stream();
            allocator.free(allocator.allocOnStream(3 * MIB, stream));
            stream.close();
            if (i == 2) {
                afterThree = allocator.stats().bytesHeld();
            }
        }
        Expect.that(
                allocator.stats().bytesHeld() <= afterThree,
                "60 streams came and went; %d bytes are held, %d after the first three",
                allocator.stats().bytesHeld(),
                afterThree);
    }

    @ConformanceTest
    void required_T05_memoryFreedAfterItsStreamClosedIsNotLost(Subject subject) {
        final StreamAwareAllocator allocator = subject.streamAware(subject.allocator());
        Subject.requireOwnOrder(allocator);
        subject.stats(allocator);
        long afterTwo = 0;
        for (int i = 0; i < 30; i++) {
            final SyncStream stream = subject.stream();
            final long live = allocator.allocOnStream(3 * MIB, stream);
            stream.close();
            allocator.free(live);
            if (i == 1) {
                afterTwo = allocator.stats().bytesHeld();
            }
        }
        Expect.that(
                allocator.stats().bytesHeld() <= afterTwo,
                "30 times a block was freed after its stream had been closed; %d bytes are held, %d after the first two: the"
                        + " freed memory was not used",
                allocator.stats().bytesHeld(),
                afterTwo);
    }

    @ConformanceTest
    void required_T05_liveMemorySurvivesItsStream(Subject subject) {
        final StreamAwareAllocator allocator = subject.streamAware(subject.allocator());
        final SyncStream first = subject.stream();
        final long live = allocator.allocOnStream(BLOCK, first);
        first.close();
        final Blocks blocks = new Blocks();
        blocks.add(live, BLOCK);
        final SyncStream second = subject.stream();
        final List<Long> taken = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            final long address = allocator.allocOnStream(BLOCK, second);
            blocks.add(address, BLOCK);
            taken.add(address);
        }
        taken.forEach(allocator::free);
        allocator.free(live);
        final long again = allocator.allocOnStream(BLOCK, second);
        allocator.free(again);
    }

    @ConformanceTest
    void required_T05_aClosedStreamIsRefused(Subject subject) {
        final StreamAwareAllocator allocator = subject.streamAware(subject.allocator());
        final SyncStream stream = subject.stream();
        stream.close();
        stream.close();
        Expect.refusal(
                IllegalStateException.class,
                "allocOnStream with a closed stream",
                () -> allocator.allocOnStream(BLOCK, stream));
        Expect.refusal(IllegalStateException.class, "flush of a closed stream", stream::flush);
        Expect.refusal(
                IllegalStateException.class, "createNotification of a closed stream", stream::createNotification);
        Expect.refusal(IllegalStateException.class, "onSessionRunEnd of a closed stream", stream::onSessionRunEnd);
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
            requireNotReused(
                    allocator, plain, BLOCK, control, "a block was freed on a stream that was never waited for");
        } catch (AssertionFailedError fault) {
            throw Expect.skip("memory goes to streams that never waited (T-03), with old handles or new");
        }
        unknown.onSessionRunEnd();
        control.onSessionRunEnd();
        final List<SyncStream> successors = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            final SyncStream old = subject.stream();
            order(old, waiter);
            order(old, waiter);
            order(old, waiter);
            old.close();
            successors.add(subject.stream());
        }
        for (final SyncStream successor : successors) {
            final long freed = allocator.allocOnStream(BLOCK, successor);
            allocator.free(freed);
            requireNotReused(
                    allocator,
                    freed,
                    BLOCK,
                    waiter,
                    "a stream was closed and a new one made, which may have its native handle; the waits for the old one"
                            + " do not count for the new one");
        }
    }

    @ConformanceTest
    void required_T08_oneStreamHoldsNoMoreThanNone(Subject subject) {
        final Map<String, String> options = Map.of();
        final Allocator plain = subject.allocator(options);
        subject.requireArena(plain);
        final List<AllocatorStats> without = play(subject, plain, null);
        subject.release(plain);
        final StreamAwareAllocator streamed = subject.streamAware(subject.allocator(options));
        subject.requireArena(streamed);
        final List<AllocatorStats> with = play(subject, streamed, subject.stream());
        for (int i = 0; i < without.size(); i++) {
            Expect.that(
                    without.get(i).bytesHeld() == with.get(i).bytesHeld(),
                    "the same program holds %d bytes in step %d without streams, and %d with one stream",
                    without.get(i).bytesHeld(),
                    i,
                    with.get(i).bytesHeld());
        }
    }

    /** Plays one program, on a stream or without; tells the statistics after each step. */
    private static List<AllocatorStats> play(Subject subject, Allocator allocator, @Nullable SyncStream stream) {
        final SplittableRandom random = subject.random("T-08");
        final List<AllocatorStats> history = new ArrayList<>();
        final List<Long> live = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            if (live.size() > 30 || (!live.isEmpty() && random.nextInt(100) < 45)) {
                allocator.free(live.remove(random.nextInt(live.size())));
            } else {
                final long byteSize = 1 + random.nextLong(1L << random.nextInt(1, 20));
                live.add(
                        stream != null && allocator instanceof StreamAwareAllocator streamAware
                                ? streamAware.allocOnStream(byteSize, stream)
                                : allocator.alloc(byteSize));
            }
            history.add(allocator.stats());
        }
        live.forEach(allocator::free);
        return history;
    }

    /** What happens between a free on one stream and the allocation on another. */
    private interface Between {
        void happens(SyncStream first, SyncStream second);
    }

    /** Frees all memory that is held on one stream, and expects another to do with it. */
    private static void requireReuse(Subject subject, StreamAwareAllocator allocator, String what, Between between) {
        subject.stats(allocator);
        final SyncStream first = subject.stream();
        final SyncStream second = subject.stream();
        final List<Long> freed = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            freed.add(allocator.allocOnStream(MIB, first));
        }
        freed.forEach(allocator::free);
        between.happens(first, second);
        final long held = allocator.stats().bytesHeld();
        final List<Long> again = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            again.add(allocator.allocOnStream(MIB, second));
        }
        final long heldThen = allocator.stats().bytesHeld();
        again.forEach(allocator::free);
        Expect.that(
                heldThen <= held,
                "16 MiB were freed on one stream; after %s another stream needed 16 MiB, and %d bytes were held instead of"
                        + " %d: the freed memory was not used",
                what,
                heldThen,
                held);
    }
}
