package allocator.conformance.rules.streams;

import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.rules.StreamReuse;
import allocator.conformance.subject.Blocks;
import allocator.conformance.subject.Contents;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.DataTransfer;
import allocator.spi.MemoryRange;
import allocator.spi.OutOfMemoryException;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;

/** Chapter T: what queued work, the end of a run, and the close of a stream mean for memory. */
public abstract class StreamLifetimeRules extends Chapter {
    private static final long MIB = 1 << 20;

    /** The size of all blocks, so that a freed block is the best fit for the next request. */
    private static final long BLOCK = 64 * 1024;

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

    /**
     * Small blocks of two streams and of none, where chunks are split to the granule: a block is cut from what its
     * stream has freed, what the other one has freed before an event, and what is free for all, and ends within any of
     * them.
     */
    @ConformanceTest
    void required_A03_piecesOfSeveralStreamsMakeOneBlock(Subject subject) {
        for (int i = 0; i < subject.times(60, 15) && subject.hasTime(); i++) {
            final StreamAwareAllocator allocator = subject.streamAware(subject.exclusive(splitting(subject)));
            final SyncStream first = subject.stream();
            final Optional<SyncStream> second = subject.furtherStream(subject.memory());
            final SplittableRandom random = subject.random("A-03 pieces " + i);
            final Blocks blocks = new Blocks();
            final List<Long> live = new ArrayList<>();
            for (int step = 0; step < 150; step++) {
                if (live.size() > 12 || (!live.isEmpty() && random.nextInt(100) < 45)) {
                    final long address = live.remove(random.nextInt(live.size()));
                    blocks.remove(address);
                    allocator.free(address);
                } else {
                    final long byteSize = 256 * (1 + random.nextLong(i % 2 == 0 ? 8 : 32)) - random.nextLong(2);
                    final SyncStream stream = random.nextInt(4) == 0 ? second.orElse(first) : first;
                    final long address = random.nextInt(3) == 0
                            ? allocator.alloc(byteSize)
                            : allocator.allocOnStream(byteSize, stream);
                    blocks.add(address, byteSize);
                    live.add(address);
                }
                if (step % 10 == 9) {
                    second.ifPresent(consumer -> StreamReuse.order(first, consumer));
                }
            }
            live.forEach(allocator::free);
            second.ifPresent(SyncStream::close);
            first.close();
            subject.release(allocator);
        }
    }

    /** Returns options with which chunks are split to the granule, as far as the provider has them. */
    private static Map<String, String> splitting(Subject subject) {
        return subject.hasKey(Subject.DEAD_BYTES) ? Map.of(Subject.DEAD_BYTES, "256") : Map.of();
    }

    @ConformanceTest
    void required_A05_whatNoStreamUsedServesEveryStream(Subject subject) {
        final StreamAwareAllocator allocator = subject.streamAware(subject.limited(16 * MIB));
        Subject.requireOwnOrder(allocator);
        final long unit = subject.partOf(allocator, 16);
        allocator.free(allocator.alloc(subject.largestOf(allocator)));
        final SyncStream first = subject.stream();
        final SyncStream second = subject.stream();
        final long before = allocator.alloc(4 * unit);
        final long used;
        final long usedToo;
        try {
            used = allocator.allocOnStream(unit, first);
            usedToo = allocator.allocOnStream(unit, first);
        } catch (OutOfMemoryException e) {
            throw Expect.skip("a request on a stream failed where one without a stream succeeds; T-08 reports why");
        }
        allocator.free(before);
        allocator.free(used);
        allocator.free(usedToo);
        final List<Long> taken = new ArrayList<>();
        // The larger one first: a worst fit would take the smaller one of the same memory. Powers of two, since
        // sizes may be rounded up to one.
        for (final long byteSize : new long[] {8 * unit, 4 * unit}) {
            try {
                taken.add(allocator.allocOnStream(byteSize, second));
            } catch (OutOfMemoryException e) {
                throw Expect.failure(
                        "a stream used 2 sixteenths of the limit, and freed them; another stream did not get "
                                + byteSize / unit + " of the 14 that no stream has used: " + e.getMessage(),
                        e);
            }
        }
        taken.forEach(allocator::free);
    }

    @ConformanceTest
    void required_T04_theEndOfARunMakesMemoryAvailable(Subject subject) {
        final StreamAwareAllocator allocator = subject.streamAware(subject.allocator());
        StreamReuse.requireReuse(subject, allocator, "the end of a run", (first, _) -> first.onSessionRunEnd());
    }

    @ConformanceTest
    void required_T04_runsThatHopStreamsDoNotHoldMoreAndMore(Subject subject) {
        final StreamAwareAllocator allocator = subject.streamAware(subject.allocator(subject.boundedGrowth()));
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
            // A little more in each run, so that it is cut from what was freed on the stream; the rest is not lost.
            allocator.free(allocator.allocOnStream(50_000 + 2_048 * run, stream));
            stream.onSessionRunEnd();
            if (run == 0) {
                afterOne = allocator.stats().bytesHeld();
            }
        }
        Expect.that(
                allocator.stats().bytesHeld() <= 2 * Math.max(afterOne, 8 * MIB), // large blocks may go back at once
                "60 like runs on three streams held %d bytes at the end, %d after the first: what was freed on a"
                        + " stream was not unbound when its run ended",
                allocator.stats().bytesHeld(),
                afterOne);
    }

    @ConformanceTest
    void required_T05_closingAStreamLosesNoMemory(Subject subject) {
        final StreamAwareAllocator allocator = subject.streamAware(subject.allocator());
        StreamReuse.requireReuse(subject, allocator, "the close of the stream", (first, _) -> first.close());
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
                "30 times a block was freed after its stream had been closed; %d bytes are held, %d after "
                        + "the first two: the"
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
        Expect.rejection(
                IllegalStateException.class,
                "allocOnStream with a closed stream",
                () -> allocator.allocOnStream(BLOCK, stream));
        allocator.free(allocator.alloc(BLOCK));
        Expect.rejection(
                IllegalStateException.class,
                "allocOnStream with a closed stream, where free memory may serve the request",
                () -> allocator.allocOnStream(BLOCK / 2, stream));
        Expect.rejection(IllegalStateException.class, "flush of a closed stream", stream::flush);
        Expect.rejection(
                IllegalStateException.class, "createNotification of a closed stream", stream::createNotification);
        Expect.rejection(IllegalStateException.class, "onSessionRunEnd of a closed stream", stream::onSessionRunEnd);
    }
}
