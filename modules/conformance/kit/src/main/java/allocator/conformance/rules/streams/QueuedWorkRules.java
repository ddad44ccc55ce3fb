package allocator.conformance.rules.streams;

import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Contents;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.conformance.subject.Workers;
import allocator.spi.Allocator;
import allocator.spi.DataTransfer;
import allocator.spi.MemoryRange;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * Chapter T: what happens while work of a stream is queued and another thread waits for it. The work itself shows
 * whether it is done: its last copy writes to memory of the host.
 */
public abstract class QueuedWorkRules extends Chapter {
    private static final long MIB = 1 << 20;

    /** The size of the blocks that queued work uses. */
    private static final long BLOCK = 64 * 1024;

    /** How many copies of 4 MiB take long enough for another thread to do something in between. */
    private static final int COPIES = 8;

    /** How many blocks are requested while work is queued. */
    private static final int REQUESTS = 200;

    private static final long PAUSE = TimeUnit.MICROSECONDS.toNanos(100);

    /** Work of a stream that takes a while and uses a block at last. */
    private static final class Work {
        private static final VarHandle BYTE = ValueLayout.JAVA_BYTE.varHandle();

        private final DataTransfer transfer;
        private final SyncStream stream;
        private final MemoryRange large;
        private final MemoryRange small;
        private final MemorySegment source;
        private final MemorySegment target;

        /** Prepares copies to a large block and, at last, to a small one and from there to memory of the host. */
        Work(DataTransfer transfer, Arena lifetime, MemoryRange large, MemoryRange small, SyncStream stream) {
            this.transfer = transfer;
            this.stream = stream;
            this.large = large;
            this.small = small;
            source = lifetime.allocate(large.byteSize(), 64);
            target = lifetime.allocate(small.byteSize(), 64);
            Contents.write(source, 77);
            source.set(ValueLayout.JAVA_BYTE, small.byteSize() - 1, (byte) 1);
        }

        Work queue(int copies) {
            for (int i = 0; i < copies; i++) {
                transfer.copy(host(source), large, stream);
            }
            transfer.copy(host(source.asSlice(0, small.byteSize())), small, stream);
            transfer.copy(small, host(target), stream);
            return this;
        }

        private static MemoryRange host(MemorySegment segment) {
            return new MemoryRange(Contents.HOST, segment.address(), segment.byteSize());
        }

        /** Returns whether the last byte has been written; if not, the work was not done at any time before. */
        boolean isDone() {
            return (byte) BYTE.getVolatile(target, target.byteSize() - 1) == 1;
        }
    }

    /** Memory of the host that work of a stream uses: it goes once the work is done, also where a test has failed. */
    private static final class Lifetime implements AutoCloseable {
        private final Arena arena = Arena.ofShared();
        private final SyncStream stream;

        Lifetime(SyncStream stream) {
            this.stream = stream;
        }

        @Override
        public void close() {
            if (!stream.hasEnded()) {
                stream.flush();
            }
            arena.close();
        }
    }

    private static StreamAwareAllocator allocator(Subject subject) {
        final StreamAwareAllocator allocator = subject.streamAware(subject.allocator());
        Subject.requireOwnOrder(allocator);
        subject.probe().ifPresent(probe -> probe.lag(true));
        return allocator;
    }

    private static DataTransfer transfer(Subject subject) {
        return Contents.transfer(subject, subject.memory())
                .orElseThrow(() -> Expect.skip("needs copies between host and device, to queue work"));
    }

    private static MemoryRange block(
            Subject subject, StreamAwareAllocator allocator, SyncStream stream, long byteSize) {
        return new MemoryRange(subject.memory(), allocator.allocOnStream(byteSize, stream), byteSize);
    }

    @ConformanceTest
    void stochastic_T05_closingKeepsMemoryUntilTheWorkIsDone(Subject subject) throws Throwable {
        requireKept(subject, "close", SyncStream::close);
    }

    @ConformanceTest
    void stochastic_T04_theEndOfARunKeepsMemoryUntilTheWorkIsDone(Subject subject) throws Throwable {
        requireKept(subject, "the end of a run", SyncStream::onSessionRunEnd);
    }

    /** Has one thread wait for a stream, and another request blocks without it, while work uses a freed block. */
    private static void requireKept(Subject subject, String what, Consumer<SyncStream> wait) throws Throwable {
        final StreamAwareAllocator allocator = allocator(subject);
        final DataTransfer transfer = transfer(subject);
        for (int round = 0; round < subject.times(6, 2) && subject.hasTime(); round++) {
            final SyncStream stream = subject.stream();
            final Optional<SyncStream> other = subject.furtherStream(subject.memory());
            try (Lifetime memory = new Lifetime(stream)) {
                final MemoryRange large = block(subject, allocator, stream, 4 * MIB);
                final MemoryRange used = block(subject, allocator, stream, BLOCK);
                final Work work = new Work(transfer, memory.arena, large, used, stream).queue(COPIES);
                allocator.free(used.address());
                final AtomicBoolean isOver = new AtomicBoolean();
                final List<Long> taken = new ArrayList<>();
                Workers.run(Thread.ofPlatform().daemon(), 2, worker -> {
                    if (worker == 0) {
                        try {
                            wait.accept(stream);
                        } finally {
                            isOver.set(true);
                        }
                        return;
                    }
                    while (!isOver.get() && !work.isDone() && taken.size() < REQUESTS) {
                        request(allocator, other, taken);
                        requireApart(taken.getLast(), used, work, "while " + what + " waits for it");
                        LockSupport.parkNanos(PAUSE);
                    }
                });
                taken.forEach(allocator::free);
                allocator.free(large.address());
                stream.close();
                other.ifPresent(SyncStream::close);
            }
        }
    }

    private static void request(StreamAwareAllocator allocator, Optional<SyncStream> other, List<Long> taken) {
        taken.add(
                other.isPresent() && taken.size() % 2 == 1
                        ? allocator.allocOnStream(BLOCK, other.get())
                        : allocator.alloc(BLOCK));
    }

    private static void requireApart(long address, MemoryRange used, Work work, String when) {
        final boolean overlaps = address < used.address() + used.byteSize() && used.address() < address + BLOCK;
        Expect.that(
                !overlaps || work.isDone(),
                "a block was freed with work of its stream queued that uses it; %s, another requester got %s, and the"
                        + " work was not done",
                when,
                Expect.hex(address));
    }

    /** What another thread frees on a stream while the end of a run waits is of the next run, like work queued then. */
    @ConformanceTest
    void optional_T04_memoryFreedWhileARunEndsIsOfTheNextRun(Subject subject) throws Throwable {
        final StreamAwareAllocator allocator = allocator(subject);
        final DataTransfer transfer = transfer(subject);
        for (int round = 0; round < subject.times(6, 2) && subject.hasTime(); round++) {
            final SyncStream stream = subject.stream();
            final Optional<SyncStream> other = subject.furtherStream(subject.memory());
            try (Lifetime memory = new Lifetime(stream)) {
                final MemoryRange large = block(subject, allocator, stream, 4 * MIB);
                final MemoryRange first = block(subject, allocator, stream, BLOCK);
                final MemoryRange used = block(subject, allocator, stream, BLOCK);
                final Work work = new Work(transfer, memory.arena, large, used, stream);
                final Work before = new Work(transfer, memory.arena, large, first, stream).queue(2 * COPIES);
                final AtomicBoolean isBegun = new AtomicBoolean();
                final AtomicBoolean isFreed = new AtomicBoolean();
                Workers.run(Thread.ofPlatform().daemon(), 2, worker -> {
                    if (worker == 0) {
                        isBegun.set(true);
                        stream.onSessionRunEnd();
                        return;
                    }
                    while (!isBegun.get()) {
                        Thread.onSpinWait();
                    }
                    LockSupport.parkNanos(5 * PAUSE); // in which the other thread begins to wait
                    if (!before.isDone()) {
                        work.queue(3 * COPIES);
                        allocator.free(used.address());
                        isFreed.set(true);
                    }
                });
                final List<Long> taken = new ArrayList<>();
                while (isFreed.get() && !work.isDone() && taken.size() < REQUESTS) {
                    request(allocator, other, taken);
                    requireApart(taken.getLast(), used, work, "after the end of a run that had begun before");
                }
                stream.close();
                taken.forEach(allocator::free);
                if (!isFreed.get()) {
                    allocator.free(used.address());
                }
                allocator.free(first.address());
                allocator.free(large.address());
                other.ifPresent(SyncStream::close);
            }
        }
    }

    /** Freed memory is held as long as queued work uses it, whatever is asked to return it. */
    @ConformanceTest
    void stochastic_K03_whatQueuedWorkUsesIsHeld(Subject subject) {
        final Allocator any = subject.exclusive(subject.manyRegions());
        subject.stats(any);
        final StreamAwareAllocator allocator = subject.streamAware(any);
        Subject.requireOwnOrder(allocator);
        final DataTransfer transfer = transfer(subject);
        subject.probe().ifPresent(probe -> probe.lag(true));
        for (int round = 0; round < subject.times(6, 2) && subject.hasTime(); round++) {
            final SyncStream stream = subject.stream();
            try (Lifetime memory = new Lifetime(stream)) {
                final MemoryRange large = block(subject, allocator, stream, 4 * MIB);
                final MemoryRange used = block(subject, allocator, stream, BLOCK);
                final Work work = new Work(transfer, memory.arena, large, used, stream).queue(COPIES);
                allocator.free(large.address());
                requireHeld(allocator, 4 * MIB + BLOCK, work, "a free");
                allocator.free(used.address());
                requireHeld(allocator, 4 * MIB + BLOCK, work, "two frees");
                Subject.ifShrinkable(allocator).ifPresent(ShrinkableAllocator::shrink);
                requireHeld(allocator, 4 * MIB + BLOCK, work, "a shrink");
                stream.close();
            }
        }
    }

    private static void requireHeld(Allocator allocator, long bytes, Work work, String after) {
        final long held = allocator.stats().bytesHeld();
        Expect.that(
                held >= bytes || work.isDone(),
                "work was queued that uses %d bytes; after %s, %d bytes were held, and the work was not done",
                bytes,
                after,
                held);
    }
}
