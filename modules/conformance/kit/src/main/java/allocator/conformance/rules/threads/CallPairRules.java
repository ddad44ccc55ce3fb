package allocator.conformance.rules.threads;

import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.conformance.subject.Workers;
import allocator.spi.Allocator;
import allocator.spi.AllocatorException;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InvalidFreeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SpiLevel;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongUnaryOperator;

/** Chapter C: calls in loops beside each other: each pair, and the look for a block beside all that moves it. */
public abstract class CallPairRules extends Chapter {
    private static final long MIB = 1 << 20;

    /** How many blocks are looked for while others come and go. */
    private static final int KEPT = 100;

    @ConformanceTest
    void stochastic_C02_eachPairOfCallsReturns(Subject subject) throws Throwable {
        final Allocator allocator = subject.exclusive(subject.boundedGrowth());
        final List<Map.Entry<String, Work>> calls =
                new ArrayList<>(calls(subject, allocator).entrySet());
        final long each = TimeUnit.MILLISECONDS.toNanos(subject.times(20, 5));
        for (int first = 0; first < calls.size(); first++) {
            for (int second = first; second < calls.size() && subject.hasTime(); second++) {
                final Work one = calls.get(first).getValue();
                final Work other = calls.get(second).getValue();
                Workers.run(Thread.ofPlatform().daemon(), 2, worker -> {
                    final long end = System.nanoTime() + each;
                    do {
                        (worker == 0 ? one : other).call();
                    } while (System.nanoTime() < end);
                });
            }
        }
    }

    /** A call in a loop. */
    private interface Work {
        void call() throws Throwable;
    }

    private static Map<String, Work> calls(Subject subject, Allocator allocator) {
        final Map<String, Work> calls = new LinkedHashMap<>();
        final int level = allocator.spiLevel();
        calls.put("alloc", () -> allocator.free(allocator.alloc(1000)));
        calls.put("large alloc", () -> allocator.free(allocator.alloc(3 * MIB)));
        calls.put("many allocs", () -> {
            final long[] live = new long[48];
            for (int i = 0; i < live.length; i++) {
                live[i] = allocator.alloc(i % 3 == 0 ? 20_000 : 2_000);
            }
            for (final long address : live) {
                allocator.free(address);
            }
        });
        calls.put("create", () -> subject.release(subject.allocator()));
        calls.put("shortage", () -> {
            fail(allocator::alloc);
            if (level >= SpiLevel.RESERVE) {
                fail(allocator::reserve);
            }
        });
        calls.put("wrong calls and descriptions", () -> {
            Expect.rejection(AllocatorException.class, "free of a wrong address", () -> allocator.free(4711));
            Expect.rejection(AllocatorException.class, "alloc(-1)", () -> allocator.alloc(-1));
            Expect.rejection(RuntimeException.class, "a create with an unknown key", () -> createWrong(subject));
            describe(subject.factory().discoverDevices(), subject.factory().optionKeys(), subject.factory());
            describe(allocator, allocator.hashCode(), allocator.info(), allocator.effectiveOptions());
        });
        calls.put(
                "refused close",
                () -> Expect.rejection(
                        IllegalStateException.class, "close with an allocator open", subject.factory()::close));
        if (level >= SpiLevel.RESERVE) {
            calls.put("reserve", () -> allocator.free(allocator.reserve(1000)));
        }
        if (level >= SpiLevel.STATISTICS) {
            calls.put("stats", allocator::stats);
        }
        Subject.ifShrinkable(allocator).ifPresent(shrinkable -> calls.put("shrink", shrinkable::shrink));
        subject.ifStreamAware(allocator).ifPresent(aware -> {
            final SyncStream common = subject.stream();
            calls.put("allocOnStream", () -> aware.free(aware.allocOnStream(1000, common)));
            calls.put("run end", () -> {
                try (SyncNotification notification = common.createNotification()) {
                    notification.activate();
                    notification.waitOnHost();
                }
                common.onSessionRunEnd();
            });
            calls.put("stream", () -> {
                final SyncStream stream = subject.stream();
                aware.free(aware.allocOnStream(2000, stream));
                stream.close();
            });
        });
        return calls;
    }

    /** The tables in which an allocator finds its blocks grow, and lose blocks, while others are looked for. */
    @ConformanceTest
    void stochastic_C01_blocksAreFoundWhileOthersComeAndGo(Subject subject) throws Throwable {
        final int most = subject.mostLive(4000);
        final long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(subject.times(2000, 400));
        for (int round = 0; round == 0 || System.nanoTime() < end; round++) {
            final Allocator allocator = subject.exclusive(subject.boundedGrowth());
            final List<Long> kept = take(allocator, KEPT, end);
            final AtomicBoolean isOver = new AtomicBoolean();
            Workers.run(Thread.ofPlatform().daemon(), 3, worker -> {
                if (worker > 0) {
                    while (!isOver.get()) {
                        // Looking for what is wrong may take long, with the lock that the others need.
                        (worker == 1 ? kept : kept.subList(0, 5)).forEach(address -> find(allocator, address, worker));
                        LockSupport.parkNanos(1000);
                    }
                    return;
                }
                try {
                    take(allocator, most, end).forEach(allocator::free);
                } finally {
                    isOver.set(true);
                }
            });
            kept.forEach(allocator::free);
            subject.release(allocator);
        }
    }

    /** Allocates so many blocks, or fewer if that takes until a time: a device may be slow. */
    private static List<Long> take(Allocator allocator, int count, long end) {
        final List<Long> taken = new ArrayList<>();
        for (int i = 0; i < count && (i < KEPT || System.nanoTime() < end); i++) {
            taken.add(allocator.alloc(64));
        }
        return taken;
    }

    /** Has a live block looked for: for its segment, or where it is no start of a block. */
    private static void find(Allocator allocator, long address, int worker) {
        if (worker == 1 && allocator instanceof HostAccessibleAllocator host) {
            final MemorySegment segment;
            try {
                segment = host.segment(address, 64);
            } catch (RuntimeException e) {
                throw Expect.failure("segment of a live block, while threads worked: " + Expect.describe(e), e);
            }
            Expect.that(
                    segment.address() == address && segment.byteSize() == 64,
                    "the segment of 64 bytes at %s has %d bytes at %s",
                    Expect.hex(address),
                    segment.byteSize(),
                    Expect.hex(segment.address()));
        } else {
            Expect.rejection(
                    InvalidFreeException.class,
                    "free of what is inside a live block, while threads worked",
                    () -> allocator.free(address + 1));
        }
    }

    private static void createWrong(Subject subject) {
        subject.allocator(Map.of("no.such.key", "1"));
    }

    private static void describe(Object... values) {
        for (final Object value : values) {
            Expect.that(value.toString() != null, "toString returned null");
        }
    }

    private static void fail(LongUnaryOperator call) {
        Expect.rejection(OutOfMemoryException.class, "a request of 2^50 bytes", () -> call.applyAsLong(1L << 50));
    }
}
