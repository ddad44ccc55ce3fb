package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.provider.support.budget.Budget;
import allocator.resource.budget.BudgetResource;
import allocator.resource.budget.PressureLadder;
import allocator.resource.budget.RequestBudgetResource;
import allocator.resource.leak.LeakTrackingResource;
import allocator.resource.log.LoggingResource;
import allocator.resource.log.ResourceLog;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.SyncStream;
import allocator.testkit.FakeStream;
import allocator.testkit.FaultsInTurn;
import allocator.testkit.FaultyCalls;
import allocator.testkit.Share;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Random programs over every adaptor, in which each call of the upstream, of a stream, a log or a callback fails in
 * turn, once or for good. After every step the device has given what the program has, and the adaptor reports as much;
 * in the end nothing is out.
 */
class ResourceFaultsTest {
    private static final int SEEDS = Share.of(2);
    private static final int STEPS = 25;
    private static final long MOST_BYTES = 4000;
    private static final long LIMIT = 12_000;

    /** What lies below an adaptor. */
    static final class Below {
        private final FaultyCalls calls = new FaultyCalls();
        private final FakeResource device = new FakeResource(MemoryKind.DEVICE, LIMIT).before(calls);
        private final FakeResource second =
                new FakeResource(MemoryKind.DEVICE, LIMIT).base(1 << 24).before(calls);
        private final FakeStream stream = new FakeStream(device.memory()).before(calls);

        long bytes() {
            return device.bytes() + second.bytes();
        }
    }

    /** An adaptor, and what it reports to be out; -1 if it reports nothing. */
    record Stack(MemoryResource top, LongSupplier reported) {
        Stack(MemoryResource top) {
            this(top, () -> -1);
        }
    }

    /** The adaptors. */
    enum Adaptor {
        BUDGET {
            @Override
            Stack over(Below below) {
                final Budget budget = Budget.of("all", LIMIT / 2).child("one", LIMIT);
                return new Stack(
                        new BudgetResource(below.device, budget),
                        () -> budget.status().charge());
            }
        },
        BUDGET_WITH_LADDER {
            @Override
            Stack over(Below below) {
                final Budget budget = Budget.of("all", LIMIT / 2);
                final PressureLadder ladder = PressureLadder.NONE.then("callback", byteSize -> {
                    below.calls.accept("callback");
                    return 0;
                });
                return new Stack(
                        new BudgetResource(below.device, budget, ladder),
                        () -> budget.status().charge());
            }
        },
        REQUEST_BUDGET {
            @Override
            Stack over(Below below) {
                return new Stack(
                        new RequestBudgetResource(below.device),
                        () -> RequestBudgetResource.CURRENT.get().status().charge());
            }
        },
        STATISTICS {
            @Override
            Stack over(Below below) {
                final StatisticsResource counted = new StatisticsResource(below.device);
                return new Stack(counted, () -> counted.statistics().bytes());
            }
        },
        LOGGING {
            @Override
            Stack over(Below below) {
                return new Stack(new LoggingResource(below.device, new FaultyLog(below.calls)));
            }
        },
        LEAK_TRACKING {
            @Override
            Stack over(Below below) {
                final LeakTrackingResource tracked = LeakTrackingResource.full(below.device);
                return new Stack(tracked, () -> tracked.report().bytes());
            }
        },
        LEAK_SAMPLING {
            @Override
            Stack over(Below below) {
                return new Stack(LeakTrackingResource.sampled(below.device, 1));
            }
        },
        FALLBACK {
            @Override
            Stack over(Below below) {
                return new Stack(
                        new FallbackResource(new BudgetResource(below.device, Budget.of("small", 6000)), below.second));
            }
        },
        FAILURE_CALLBACK {
            @Override
            Stack over(Below below) {
                return new Stack(new FailureCallbackResource(below.device, 1, (failure, attempt) -> {
                    below.calls.accept("callback");
                    return true;
                }));
            }
        },
        ALIGNED {
            @Override
            Stack over(Below below) {
                return new Stack(new AlignedResource(below.device, 1024));
            }

            @Override
            long padded(long byteSize) {
                return byteSize + 1024 - 256;
            }
        },
        SYNCHRONIZING {
            @Override
            Stack over(Below below) {
                return new Stack(new SynchronizingResource(new Unordered(below.device)));
            }
        },
        STREAM_BOUND {
            @Override
            Stack over(Below below) {
                return new Stack(new StreamBoundResource(below.device, below.stream));
            }
        },
        ALLOCATOR {
            @Override
            Stack over(Below below) {
                final ResourceAllocator allocator = ResourceAllocator.of(below.device);
                return new Stack(
                        new AllocatorResource(allocator),
                        () -> allocator.stats().bytesHeld());
            }
        },
        EVERY_DECORATOR {
            @Override
            Stack over(Below below) {
                return new Stack(EveryDecorator.over(below.device));
            }
        };

        abstract Stack over(Below below);

        long padded(long byteSize) {
            return byteSize;
        }
    }

    /** A log that throws. */
    private record FaultyLog(FaultyCalls calls) implements ResourceLog {
        @Override
        public void allocated(long address, long byteSize, @Nullable SyncStream stream) {
            calls.accept("allocated");
        }

        @Override
        public void failed(long byteSize, @Nullable SyncStream stream) {
            calls.accept("failed");
        }

        @Override
        public void freed(long address, long byteSize, @Nullable SyncStream stream) {
            calls.accept("freed");
        }

        @Override
        public long droppedRecords() {
            return 0;
        }
    }

    private record Block(long address, long byteSize) {}

    /** One run of a program. */
    private static final class Program {
        private final Adaptor adaptor;
        private final Below below = new Below();
        private final Stack stack;
        private final StreamOrderedMemoryResource top;
        private final List<Block> live = new ArrayList<>();

        Program(Adaptor adaptor) {
            this.adaptor = adaptor;
            stack = adaptor.over(below);
            top = StreamOrderedMemoryResource.of(stack.top);
        }

        /** Returns how many calls failed. */
        long run(long seed, long number, boolean forGood, Supplier<? extends Throwable> failure) {
            final Random random = new Random(seed);
            below.calls.failAt(number, forGood, failure);
            for (int step = 0; step < STEPS; step++) {
                attempt(random.nextInt(8), random.nextInt(1 << 20), 1 + random.nextLong(MOST_BYTES));
                verify();
            }
            below.calls.stop();
            while (!live.isEmpty()) {
                deallocate(live.getFirst(), false);
            }
            top.shrink();
            top.close();
            top.close();
            assertThat(below.bytes()).isZero();
            assertThat(below.device.blocks() + below.second.blocks()).isZero();
            assertThat(stack.reported.getAsLong()).isLessThanOrEqualTo(0);
            return below.calls.failures();
        }

        private void attempt(int kind, int choice, long byteSize) {
            final long before = below.calls.failures();
            try {
                step(kind, choice, byteSize);
            } catch (OutOfMemoryException e) {
                // The limit's, or injected.
            } catch (Throwable e) {
                if (below.calls.failures() == before) {
                    throw e;
                }
            }
        }

        private void step(int kind, int choice, long byteSize) {
            switch (kind) {
                case 0 -> live.add(new Block(top.allocate(byteSize, 64), byteSize));
                case 1 -> live.add(new Block(top.allocate(byteSize, 64, below.stream), byteSize));
                case 2, 3 -> live.add(new Block(top.reserve(byteSize, 64), byteSize));
                case 4 -> top.shrink();
                default -> {
                    if (!live.isEmpty()) {
                        deallocate(live.get(choice % live.size()), kind == 5);
                    }
                }
            }
        }

        /** A block whose deallocation is rejected is live. */
        private void deallocate(Block block, boolean isOnStream) {
            if (isOnStream) {
                top.deallocate(block.address, block.byteSize, 64, below.stream);
            } else {
                top.deallocate(block.address, block.byteSize, 64);
            }
            live.remove(block);
        }

        private void verify() {
            final long has = live.stream()
                    .mapToLong(block -> adaptor.padded(block.byteSize))
                    .sum();
            final long reported = below.calls.without(stack.reported::getAsLong);
            if (adaptor != Adaptor.ALLOCATOR) {
                assertThat(below.bytes()).isEqualTo(has);
            }
            if (reported >= 0) {
                assertThat(reported).isEqualTo(below.bytes());
            }
        }
    }

    private static Map<String, Supplier<Throwable>> failures() {
        final Map<String, Supplier<Throwable>> failures = new LinkedHashMap<>(FaultsInTurn.failures());
        failures.put(
                "OutOfMemoryException",
                () -> new OutOfMemoryException("injected", Shortage.ofDevice(new FakeResource(0).memory(), 1, 0)));
        return failures;
    }

    @ParameterizedTest
    @EnumSource
    void nothingIsLostWhicheverCallFails(Adaptor adaptor) {
        long injected = 0;
        for (Map.Entry<String, Supplier<Throwable>> failure : failures().entrySet()) {
            for (long seed = 1; seed <= SEEDS; seed++) {
                injected += run(adaptor, seed, false, failure) + run(adaptor, seed, true, failure);
            }
        }
        assertThat(injected).isGreaterThan(500);
    }

    private static long run(
            Adaptor adaptor, long seed, boolean forGood, Map.Entry<String, Supplier<Throwable>> failure) {
        long failures = 0;
        for (long number = 1; ; number++) {
            final long call = number;
            final long failed;
            try {
                failed = ScopedValue.where(RequestBudgetResource.CURRENT, Budget.of("request", LIMIT))
                        .call(() -> new Program(adaptor).run(seed, call, forGood, failure.getValue()));
            } catch (Throwable e) {
                throw new AssertionError(
                        "seed " + seed + ", call " + number + " fails with " + failure.getKey()
                                + (forGood ? " for good" : " once"),
                        e);
            }
            if (failed == 0) {
                return failures;
            }
            failures += failed;
        }
    }
}
