package allocator.conformance.rules.streams;

import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.rules.FreedMemory;
import allocator.conformance.rules.StreamReuse;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Chapter T: many events, many blocks, and streams of other memories and devices. */
public abstract class StreamStampRules extends Chapter {
    /** The size of all blocks, so that a freed block is the best fit for the next request. */
    private static final long BLOCK = 64 * 1024;

    /** Counts at which a stamp of 7, 8, 15 or 16 bits wraps. */
    private static final int[] COUNTS = {1, 127, 128, 129, 255, 256, 257, 32_767, 32_768, 32_769, 65_535, 65_536, 65_537
    };

    /** The largest of {@link #COUNTS} in a quick run. */
    private static final int FEW = 300;

    @ConformanceTest
    void required_T03_aWaitBeforeTheFreeDoesNotCountHoweverManyEvents(Subject subject) {
        final StreamAwareAllocator allocator = subject.orderedByStreams();
        final SyncStream first = subject.stream();
        final SyncStream second = subject.stream();
        int events = 0;
        try (SyncNotification notification = first.createNotification()) {
            for (final int count : COUNTS) {
                while (events < count && subject.hasTime()) {
                    notification.activate();
                    events++;
                }
                if (events < count || (subject.settings().quick() && count > FEW)) {
                    break;
                }
                final FreedMemory freed = new FreedMemory(subject, allocator);
                final long block = allocator.allocOnStream(BLOCK, first);
                notification.waitOnDevice(second);
                freed.free(block, BLOCK, first);
                freed.requireNotReused(
                        BLOCK, second, "a stream waited for event " + count + " of another, which then freed a block");
                first.flush();
            }
        }
    }

    @ConformanceTest
    void required_T03_anEventCoversOnlyTheFreesBeforeIt(Subject subject) {
        final StreamAwareAllocator allocator = subject.orderedByStreams();
        final SyncStream first = subject.stream();
        final SyncStream second = subject.stream();
        for (int round = 0; round < 20; round++) {
            final long before = allocator.allocOnStream(BLOCK, first);
            final long after = allocator.allocOnStream(BLOCK, first);
            final long later = allocator.allocOnStream(BLOCK, first);
            allocator.free(before);
            StreamReuse.order(first, second);
            final FreedMemory freed = new FreedMemory(subject, allocator);
            freed.free(after, BLOCK, first);
            freed.free(later, BLOCK, first);
            final List<Long> taken = new ArrayList<>();
            for (int i = 0; i < 12; i++) {
                final long address = freed.allocate(BLOCK, second);
                taken.add(address);
                freed.requireApart(
                        address,
                        BLOCK,
                        second,
                        "a stream waited for an event of another; a block that was freed after the event went to it");
            }
            taken.forEach(allocator::free);
            first.onSessionRunEnd();
            second.onSessionRunEnd();
        }
    }

    @ConformanceTest
    void required_T07_aClosedStreamMakesRoomForAnother(Subject subject) {
        subject.streamAware(subject.allocator());
        final int most = subject.times(40, 20);
        final List<SyncStream> open = new ArrayList<>();
        for (int i = 0; i < most; i++) {
            subject.furtherStream(subject.memory()).ifPresent(open::add);
        }
        final int count = open.size();
        for (int i = 0; i < 2 * count; i++) {
            open.removeFirst().close();
            final Optional<SyncStream> next = subject.furtherStream(subject.memory());
            Expect.that(
                    next.isPresent(),
                    "%d streams were open, and one of them was closed; it made no room for another",
                    count);
            next.ifPresent(open::add);
        }
        open.forEach(SyncStream::close);
    }

    @ConformanceTest
    void required_F10_aStreamOfAnotherDeviceIsRefused(Subject subject) {
        final StreamAwareAllocator allocator = subject.streamAware(subject.allocator());
        final boolean counts = subject.counts(allocator);
        final long before = counts ? allocator.stats().numAllocs() : 0;
        Expect.rejection(
                IllegalArgumentException.class,
                "allocOnStream with a stream of another device",
                () -> allocator.allocOnStream(100, new Stranger()));
        Expect.that(
                !counts || allocator.stats().numAllocs() == before,
                "a rejected allocOnStream was counted as an allocation");
        for (final MemoryInfo info : subject.memories()) {
            if (subject.factory().isStreamAware(info) && !subject.isSameDevice(info, subject.memory())) {
                final SyncStream other = subject.stream(info);
                try {
                    Expect.rejection(
                            IllegalArgumentException.class,
                            "allocOnStream on " + subject.memory() + " with a stream of " + info,
                            () -> allocator.allocOnStream(100, other));
                } finally {
                    other.close();
                }
            }
        }
        allocator.free(allocator.alloc(100));
    }

    @ConformanceTest
    void required_T04_aRunEndsInEachMemoryOfTheDevice(Subject subject) {
        subject.streamAware(subject.allocator());
        int others = 0;
        for (final MemoryInfo info : subject.othersWithRoom()) {
            if (subject.isSameDevice(info, subject.memory())
                    && subject.create(info, Map.of())
                                    .as(StreamAwareAllocator.class)
                                    .orElse(null)
                            instanceof StreamAwareAllocator allocator
                    && !allocator.isOrderedByDevice()
                    && subject.counts(allocator)) {
                others++;
                for (final boolean isEnd : new boolean[] {true, false}) {
                    requireReuse(subject, allocator, isEnd);
                }
            }
        }
        if (others == 0) {
            throw Expect.skip("the device has no other memory with streams");
        }
    }

    /** Frees memory on a stream that was created for another memory of the device, and allocates as much on another. */
    private static void requireReuse(Subject subject, StreamAwareAllocator allocator, boolean isEnd) {
        StreamReuse.requireReuse(
                subject,
                allocator,
                (isEnd ? "the end of its run" : "its close") + ", in " + allocator.info() + " although it is one for "
                        + subject.memory() + ",",
                (first, _) -> {
                    if (isEnd) {
                        first.onSessionRunEnd();
                    } else {
                        first.close();
                    }
                });
    }

    /** A stream of no provider. */
    private static final class Stranger extends SyncStream {
        Stranger() {
            super(new MemoryInfo(
                    "Nowhere",
                    new MemoryLocation(DeviceType.FPGA, 0xFFFF, 4711, MemoryType.DEFAULT),
                    1,
                    AllocatorType.DEVICE));
        }

        @Override
        public long handle() {
            return 0;
        }

        @Override
        public SyncNotification createNotification() {
            throw new UnsupportedOperationException();
        }

        @Override
        public void flush() {}

        @Override
        public void onSessionRunEnd() {}

        @Override
        public void close() {}
    }
}
