package allocator.conformance.rules.threads;

import allocator.conformance.rules.AllocationCalls;
import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.rules.StreamReuse;
import allocator.conformance.subject.Blocks;
import allocator.conformance.subject.Contents;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.conformance.subject.Workers;
import allocator.spi.Allocator;
import allocator.spi.DataTransfer;
import allocator.spi.EpFactory;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.MemoryRange;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongUnaryOperator;
import java.util.function.Supplier;

/** Chapter C: concurrent calls of platform and virtual threads. */
public abstract class ConcurrencyRules extends Chapter {
    private static Thread.Builder platform() {
        return Thread.ofPlatform().daemon();
    }

    /** Calls in a new thread, which then ends, and returns the result. */
    private static <T> T elsewhere(Thread.Builder builder, String call, Supplier<T> work) throws Throwable {
        final AtomicReference<T> result = new AtomicReference<>();
        try {
            Workers.run(builder, 1, _ -> result.set(work.get()));
        } catch (Expect.Skip e) {
            throw e;
        } catch (RuntimeException e) {
            throw Expect.failure(call + " failed in a thread that did not make what it uses: " + Expect.describe(e), e);
        }
        return Objects.requireNonNull(result.get());
    }

    private static void elsewhere(Thread.Builder builder, String call, Runnable work) throws Throwable {
        elsewhere(builder, call, () -> {
            work.run();
            return true;
        });
    }

    @ConformanceTest
    void required_C01_anyThreadUsesAnAllocator(Subject subject) throws Throwable {
        for (final Thread.Builder thread : List.of(platform(), Thread.ofVirtual())) {
            final EpFactory factory = subject.factory();
            final Allocator here = subject.allocator();
            use(thread, here, subject);
            final Allocator made = elsewhere(thread, "createAllocator", () -> subject.allocator());
            made.free(made.alloc(1000));
            use(thread, made, subject);
            elsewhere(thread, "discoverDevices", () -> {
                factory.discoverDevices();
            });
            elsewhere(thread, "releaseAllocator", () -> subject.release(here));
            subject.release(made);
        }
    }

    /** Calls each method of an allocator in threads of their own. */
    private static void use(Thread.Builder thread, Allocator allocator, Subject subject) throws Throwable {
        final List<Long> live = new ArrayList<>();
        for (final Map.Entry<String, LongUnaryOperator> call :
                AllocationCalls.withoutStreams(allocator).entrySet()) {
            live.add(elsewhere(thread, call.getKey(), () -> call.getValue().applyAsLong(5000)));
        }
        live.add(allocator.alloc(5000));
        if (allocator.as(HostAccessibleAllocator.class).orElse(null) instanceof HostAccessibleAllocator host) {
            for (final long address : live) {
                final MemorySegment segment = host.segment(address, 5000);
                elsewhere(thread, "access to a segment", () -> Contents.write(segment, address));
                elsewhere(thread, "segment", () -> Contents.write(host.segment(address, 5000), address));
            }
        }
        final Optional<DataTransfer> transfer = Contents.transfer(subject, subject.memory());
        if (transfer.isPresent()) {
            try (Arena lifetime = Arena.ofShared()) {
                final MemorySegment bytes = lifetime.allocate(5000, 64);
                final MemoryRange buffer = new MemoryRange(Contents.HOST, bytes.address(), 5000);
                final MemoryRange block = new MemoryRange(subject.memory(), live.getFirst(), 5000);
                elsewhere(thread, "copy", () -> transfer.get().copy(buffer, block, null));
                elsewhere(thread, "copy", () -> transfer.get().copy(block, buffer, null));
            }
        }
        if (allocator.spiLevel() >= SpiLevel.STATISTICS) {
            elsewhere(thread, "stats", allocator::stats);
        }
        final Optional<ShrinkableAllocator> shrinkable = Subject.ifShrinkable(allocator);
        if (shrinkable.isPresent()) {
            elsewhere(thread, "shrink", shrinkable.get()::shrink);
        }
        for (final long address : live) {
            elsewhere(thread, "free", () -> allocator.free(address));
        }
    }

    @ConformanceTest
    void required_C01_anyThreadUsesAStream(Subject subject) throws Throwable {
        final StreamAwareAllocator allocator = subject.streamAware(subject.allocator());
        for (final Thread.Builder thread : List.of(platform(), Thread.ofVirtual())) {
            final SyncStream here = subject.stream();
            use(thread, allocator, here, subject);
            elsewhere(thread, "close of a stream", here::close);
            final SyncStream made = elsewhere(thread, "createSyncStream", () -> subject.stream());
            use(thread, allocator, made, subject);
            made.close();
        }
    }

    /** Calls each method of a stream and its notification in threads of their own. */
    private static void use(Thread.Builder thread, StreamAwareAllocator allocator, SyncStream stream, Subject subject)
            throws Throwable {
        final SyncNotification here = stream.createNotification();
        final SyncNotification made = elsewhere(thread, "createNotification", stream::createNotification);
        final Optional<SyncStream> other = subject.furtherStream(subject.memory());
        final long address = elsewhere(thread, "allocOnStream", () -> allocator.allocOnStream(5000, stream));
        final Optional<DataTransfer> transfer = Contents.transfer(subject, subject.memory());
        if (transfer.isPresent()) {
            try (Arena lifetime = Arena.ofShared()) {
                final MemorySegment bytes = lifetime.allocate(5000, 64);
                final MemoryRange buffer = new MemoryRange(Contents.HOST, bytes.address(), 5000);
                final MemoryRange block = new MemoryRange(subject.memory(), address, 5000);
                elsewhere(thread, "copy on a stream", () -> transfer.get().copy(buffer, block, stream));
                stream.flush();
            }
        }
        for (final SyncNotification notification : List.of(here, made)) {
            elsewhere(thread, "activate", notification::activate);
            elsewhere(thread, "waitOnHost", notification::waitOnHost);
            if (other.isPresent()) {
                elsewhere(thread, "waitOnDevice", () -> notification.waitOnDevice(other.get()));
            }
            notification.activate();
            notification.waitOnHost();
        }
        elsewhere(thread, "free", () -> allocator.free(address));
        elsewhere(thread, "flush", stream::flush);
        elsewhere(thread, "onSessionRunEnd", stream::onSessionRunEnd);
        elsewhere(thread, "close of a notification", here::close);
        made.close();
        other.ifPresent(SyncStream::close);
    }

    @ConformanceTest
    void stochastic_C01_platformThreadsGetBlocksOfTheirOwn(Subject subject) throws Throwable {
        hammer(subject, platform(), 4);
    }

    @ConformanceTest
    void stochastic_C01_virtualThreadsGetBlocksOfTheirOwn(Subject subject) throws Throwable {
        hammer(subject, Thread.ofVirtual(), 32);
    }

    private static void hammer(Subject subject, Thread.Builder builder, int threads) throws Throwable {
        final Allocator allocator = subject.allocator(subject.boundedGrowth());
        final Optional<Contents> contents = Contents.of(subject, allocator);
        final Blocks blocks = new Blocks();
        final int rounds = subject.times(20_000, 3_000) / threads;
        Workers.run(builder, threads, worker -> {
            final SplittableRandom random = subject.random("C-01 worker " + worker);
            final List<Long> live = new ArrayList<>();
            for (int i = 0; i < rounds && subject.hasTime(); i++) {
                if (live.size() > 8 || (!live.isEmpty() && random.nextInt(100) < 48)) {
                    final long address = live.remove(random.nextInt(live.size()));
                    contents.ifPresent(bytes ->
                            bytes.verify(address, 64, address ^ worker, "a block changed while threads worked:"));
                    blocks.remove(address);
                    allocator.free(address);
                } else {
                    final long byteSize = 64 + random.nextLong(1L << random.nextInt(4, 15));
                    final long address = allocator.alloc(byteSize);
                    blocks.add(address, byteSize);
                    contents.ifPresent(bytes -> bytes.fill(address, 64, address ^ worker));
                    live.add(address);
                }
            }
            live.forEach(address -> {
                blocks.remove(address);
                allocator.free(address);
            });
        });
    }

    @ConformanceTest
    void stochastic_C01_whatOneThreadTakesAnotherFrees(Subject subject) throws Throwable {
        final Allocator allocator = subject.allocator(subject.boundedGrowth());
        final Blocks blocks = new Blocks();
        final BlockingQueue<Long> queue = new ArrayBlockingQueue<>(64);
        final AtomicBoolean isOver = new AtomicBoolean();
        final int count = subject.times(20_000, 2_000);
        Workers.run(platform(), 2, worker -> {
            try {
                if (worker == 0) {
                    produce(subject, allocator, blocks, queue, count, isOver);
                } else {
                    consume(allocator, blocks, queue, count, isOver);
                }
            } finally {
                // The producer must not wait for a consumer that has ended early.
                if (worker == 1) {
                    isOver.set(true);
                }
            }
        });
    }

    private static void produce(
            Subject subject,
            Allocator allocator,
            Blocks blocks,
            BlockingQueue<Long> queue,
            int count,
            AtomicBoolean isOver)
            throws InterruptedException {
        final SplittableRandom random = subject.random("C-01 producer");
        try {
            for (int i = 0; i < count && !isOver.get() && subject.hasTime(); i++) {
                final long byteSize = 1 + random.nextLong(20_000);
                final long address = allocator.alloc(byteSize);
                blocks.add(address, byteSize);
                while (!queue.offer(address, 50, TimeUnit.MILLISECONDS) && !isOver.get()) {
                    Thread.onSpinWait();
                }
            }
            // Perhaps fewer than the consumer expects, for lack of time.
            while (!queue.isEmpty() && !isOver.get()) {
                Thread.sleep(1);
            }
        } finally {
            isOver.set(true);
        }
    }

    private static void consume(
            Allocator allocator, Blocks blocks, BlockingQueue<Long> queue, int count, AtomicBoolean isOver)
            throws InterruptedException {
        int taken = 0;
        while (taken < count && !isOver.get()) {
            final Long address = queue.poll(50, TimeUnit.MILLISECONDS);
            if (address != null) {
                taken++;
                blocks.remove(address);
                allocator.free(address);
            }
        }
    }

    @ConformanceTest
    void stochastic_C02_allCallsTogetherReturn(Subject subject) throws Throwable {
        final Allocator allocator = subject.allocator(subject.boundedGrowth());
        final int rounds = subject.times(3_000, 400);
        Workers.run(platform(), 6, worker -> {
            for (int i = 0; i < rounds && subject.hasTime(); i++) {
                switch (worker) {
                    case 0, 1 -> allocator.free(allocator.alloc(100L * (1 + i % 50)));
                    case 2 -> {
                        if (allocator.spiLevel() >= SpiLevel.RESERVE) {
                            allocator.free(allocator.reserve(5000));
                        }
                    }
                    case 3 -> {
                        if (allocator.spiLevel() >= SpiLevel.STATISTICS) {
                            allocator.stats();
                        }
                    }
                    case 4 -> {
                        if (i % 20 == 0) {
                            Subject.ifShrinkable(allocator).ifPresent(ShrinkableAllocator::shrink);
                        }
                    }
                    default -> {
                        if (i % 20 == 0) {
                            subject.release(subject.allocator());
                            subject.factory().discoverDevices();
                        }
                    }
                }
            }
        });
    }

    @ConformanceTest
    void stochastic_C02_manyVirtualThreadsDoNotStarve(Subject subject) throws Throwable {
        final Allocator allocator = subject.allocator(subject.boundedGrowth());
        Workers.run(Thread.ofVirtual(), 64, worker -> {
            for (int i = 0; i < 20 && subject.hasTime(); i++) {
                final long address = allocator.alloc(1000L * (1 + worker));
                LockSupport.parkNanos(1);
                allocator.free(address);
            }
        });
    }

    @ConformanceTest
    void stochastic_C02_streamsTogetherReturn(Subject subject) throws Throwable {
        final StreamAwareAllocator allocator = subject.streamAware(subject.allocator(subject.boundedGrowth()));
        final int rounds = subject.times(300, 50);
        final SyncStream common = subject.stream();
        Workers.run(platform(), 4, worker -> {
            for (int i = 0; i < rounds && subject.hasTime(); i++) {
                final SyncStream stream = subject.stream();
                final long own = allocator.allocOnStream(10_000, stream);
                final long shared = allocator.allocOnStream(5_000L * (1 + worker), common);
                StreamReuse.order(stream, common);
                allocator.free(own);
                allocator.free(shared);
                stream.onSessionRunEnd();
                stream.close();
            }
        });
    }

    @ConformanceTest
    void stochastic_C02_creatingAndReleasingTogetherReturn(Subject subject) throws Throwable {
        Workers.run(platform(), 4, worker -> {
            for (int i = 0; i < subject.times(200, 40) && subject.hasTime(); i++) {
                final Allocator allocator = subject.allocator(subject.boundedGrowth());
                final long address = allocator.alloc(1000L + worker);
                allocator.free(address);
                subject.release(allocator);
            }
        });
    }
}
