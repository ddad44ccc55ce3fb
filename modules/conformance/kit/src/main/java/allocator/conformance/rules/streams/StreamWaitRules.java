package allocator.conformance.rules.streams;

import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Contents;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.AllocatorException;
import allocator.spi.DataTransfer;
import allocator.spi.DeviceException;
import allocator.spi.MemoryRange;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/** Chapters T and D: what a stream has done when a call returns that waits for it. */
public abstract class StreamWaitRules extends Chapter {
    private static final long MIB = 1 << 20;

    @ConformanceTest
    void required_T04_theEndOfARunWaitsForItsWork(Subject subject) {
        requireDone(subject, "the end of a run", SyncStream::onSessionRunEnd);
    }

    @ConformanceTest
    void required_T05_closingWaitsForTheWork(Subject subject) {
        requireDone(subject, "close", SyncStream::close);
    }

    @ConformanceTest
    void required_D02_aFlushWaitsForTheWork(Subject subject) {
        requireDone(subject, "flush", SyncStream::flush);
    }

    @ConformanceTest
    void required_D02_aWaitOnTheHostWaitsForTheWork(Subject subject) {
        requireDone(subject, "waitOnHost", stream -> {
            try (SyncNotification notification = stream.createNotification()) {
                notification.activate();
                notification.waitOnHost();
            }
        });
    }

    @ConformanceTest
    void required_D02_aNotificationMarksTheLatestPoint(Subject subject) {
        final StreamAwareAllocator allocator = subject.streamAware(subject.allocator());
        final DataTransfer transfer = Contents.transfer(subject, subject.memory())
                .orElseThrow(() -> Expect.skip("needs copies between host and device, to queue work"));
        subject.probe().ifPresent(probe -> probe.lag(true));
        final SyncStream stream = subject.stream();
        final Optional<SyncStream> other = subject.furtherStream(subject.memory());
        final long address = allocator.allocOnStream(4 * MIB, stream);
        final MemoryRange block = new MemoryRange(subject.memory(), address, 4 * MIB);
        try (Arena lifetime = Arena.ofConfined();
                SyncNotification notification = stream.createNotification()) {
            final MemorySegment source = lifetime.allocate(4 * MIB, 64);
            final MemorySegment target = lifetime.allocate(4 * MIB, 64);
            final MemoryRange back = new MemoryRange(Contents.HOST, target.address(), 4 * MIB);
            for (int round = 0; round < subject.times(12, 6); round++) {
                final int seed = 70 + round;
                Contents.write(source, seed);
                transfer.copy(new MemoryRange(Contents.HOST, source.address(), 4 * MIB), block, stream);
                if (round % 2 == 0 || other.isEmpty()) {
                    transfer.copy(block, back, stream);
                    notification.activate();
                    notification.waitOnHost();
                } else {
                    notification.activate();
                    notification.waitOnDevice(other.get());
                    transfer.copy(block, back, other.get());
                    other.get().flush();
                }
                final Optional<String> seen = Contents.difference(target, seed);
                stream.flush(); // nothing is copied any more when the memory goes
                seen.ifPresent(fault -> Expect.that(
                        false, "a notification was activated again after more work; after a wait for it, %s", fault));
            }
        }
        allocator.free(address);
        other.ifPresent(SyncStream::close);
        stream.close();
    }

    @ConformanceTest
    void required_T07_notificationsHaveNoBound(Subject subject) {
        subject.streamAware(subject.allocator());
        final SyncStream stream = subject.stream();
        final Optional<SyncStream> other = subject.furtherStream(subject.memory());
        final List<SyncNotification> open = new ArrayList<>();
        try {
            for (int i = 0; i < subject.times(5_000, 1_100) && subject.hasTime(); i++) {
                open.add(activated(stream, i));
                if (i % 50 == 0) {
                    other.ifPresent(open.getLast()::waitOnDevice);
                }
            }
            open.getFirst().waitOnHost();
            open.getLast().waitOnHost();
            other.ifPresent(open.get(open.size() / 2)::waitOnDevice);
            other.ifPresent(SyncStream::flush);
        } finally {
            open.forEach(SyncNotification::close);
        }
        activated(stream, 0).close();
    }

    private static SyncNotification activated(SyncStream stream, int open) {
        try {
            final SyncNotification notification = stream.createNotification();
            notification.activate();
            return notification;
        } catch (AllocatorException e) {
            throw Expect.failure(
                    open + " notifications of a stream are open; a further one failed, though they have no bound: "
                            + Expect.describe(e),
                    e);
        }
    }

    /** Queues a copy to the host, calls what waits for it, and looks whether the bytes are there. */
    private static void requireDone(Subject subject, String what, Consumer<SyncStream> wait) {
        final StreamAwareAllocator allocator = subject.streamAware(subject.allocator());
        final DataTransfer transfer = Contents.transfer(subject, subject.memory())
                .orElseThrow(() -> Expect.skip("needs copies between host and device, to queue work"));
        subject.probe().ifPresent(probe -> probe.lag(true));
        for (int round = 0; round < subject.times(6, 2); round++) {
            final SyncStream stream = subject.stream();
            final boolean isInterrupted = round % 2 == 1;
            try (Arena lifetime = Arena.ofConfined()) {
                final MemorySegment source = lifetime.allocate(4 * MIB, 64);
                final MemorySegment target = lifetime.allocate(4 * MIB, 64);
                Contents.write(source, 40 + round);
                final long address = allocator.allocOnStream(4 * MIB, stream);
                final MemoryRange block = new MemoryRange(subject.memory(), address, 4 * MIB);
                transfer.copy(new MemoryRange(Contents.HOST, source.address(), 4 * MIB), block, stream);
                transfer.copy(block, new MemoryRange(Contents.HOST, target.address(), 4 * MIB), stream);
                final boolean isDone = returns(stream, wait, isInterrupted);
                if (isDone) {
                    Contents.difference(target, 40 + round)
                            .ifPresent(fault -> Expect.that(
                                    false,
                                    "a copy was queued on a stream; after %s returned%s, %s",
                                    what,
                                    isInterrupted ? " to an interrupted thread" : "",
                                    fault));
                }
                allocator.free(address);
                stream.close();
            }
        }
    }

    /** Waits; returns whether that ended without an exception, which it may have if the thread is interrupted. */
    private static boolean returns(SyncStream stream, Consumer<SyncStream> wait, boolean isInterrupted) {
        if (!isInterrupted) {
            wait.accept(stream);
            return true;
        }
        Thread.currentThread().interrupt();
        try {
            wait.accept(stream);
            return true;
        } catch (DeviceException ended) {
            Thread.interrupted();
            if (!stream.hasEnded()) {
                stream.flush();
            }
            return false;
        } finally {
            Thread.interrupted();
        }
    }
}
