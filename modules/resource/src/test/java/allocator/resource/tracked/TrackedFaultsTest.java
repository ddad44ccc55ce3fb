package allocator.resource.tracked;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.provider.support.budget.Budget;
import allocator.resource.FakeResource;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import allocator.testkit.FakeStream;
import allocator.testkit.FaultsInTurn;
import allocator.testkit.FaultyCalls;
import allocator.testkit.Share;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Supplier;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Random programs over tracked memory, in which each call of the upstream and of the events fails in turn. The sum of
 * live and pending bytes is always what the device has given and what the budget charges; in the end nothing is out,
 * and no event is live.
 */
class TrackedFaultsTest {
    private static final int SEEDS = Share.of(3);
    private static final int STEPS = 30;

    /** Events whose calls fail. */
    private static final class FaultyEvents implements StreamEvents {
        private final FakeEvents events;
        private final FaultyCalls calls;

        FaultyEvents(FakeEvents events, FaultyCalls calls) {
            this.events = events;
            this.calls = calls;
        }

        @Override
        public long record(SyncStream stream) {
            calls.accept("record");
            return events.record(stream);
        }

        @Override
        public void await(SyncStream stream, long event) {
            calls.accept("await");
            events.await(stream, event);
        }

        @Override
        public boolean isDone(long event) {
            calls.accept("isDone");
            return events.isDone(event);
        }

        @Override
        public void release(long event) {
            events.release(event);
        }
    }

    /** One run of a program. */
    private static final class Program {
        private final FaultyCalls calls = new FaultyCalls();
        private final FakeResource device = new FakeResource(1 << 20).before(calls);
        private final FakeEvents events = new FakeEvents();
        private final Budget budget = Budget.of("device", 20_000);
        private final TrackedMemory memory = new TrackedMemory(device, new FaultyEvents(events, calls), budget);
        private final List<FakeStream> streams =
                List.of(new FakeStream(device.memory()), new FakeStream(device.memory()));
        private final List<TrackedBlock> live = new ArrayList<>();

        long run(long seed, long number, boolean forGood, Supplier<? extends Throwable> failure) {
            final Random random = new Random(seed);
            calls.failAt(number, forGood, failure);
            for (int step = 0; step < STEPS; step++) {
                attempt(random.nextInt(8), random.nextInt(1 << 20), streams.get(random.nextInt(2)));
                verify();
            }
            calls.stop();
            live.forEach(memory::free);
            live.clear();
            for (int round = 0; round < 3; round++) {
                events.advanceAll();
                memory.reap();
            }
            verify();
            memory.close();
            assertThat(device.bytes()).isZero();
            assertThat(budget.status().charge()).isZero();
            assertThat(events.live()).isZero();
            return calls.failures();
        }

        private void attempt(int kind, int choice, SyncStream stream) {
            final long before = calls.failures();
            try {
                step(kind, choice, stream);
            } catch (OutOfMemoryException e) {
                // The budget's.
            } catch (Throwable e) {
                if (calls.failures() == before) {
                    throw e;
                }
            }
        }

        private void step(int kind, int choice, SyncStream stream) {
            if (kind < 3 || live.isEmpty()) {
                live.add(memory.allocate(1 + choice % 5000, stream, "block"));
                return;
            }
            final TrackedBlock block = live.get(choice % live.size());
            final Access access = choice % 3 == 0 ? Access.READ : Access.WRITE;
            switch (kind) {
                case 3 -> {
                    memory.prepare(block, access, stream);
                    memory.finish(block, access, stream);
                }
                case 4 -> {
                    try (TrackedLaunch launch = memory.launch(stream)
                            .uses(block, access)
                            .uses(live.getFirst(), Access.READ)
                            .uses(live.getLast(), Access.WRITE)) {
                        launch.prepare();
                        if (choice % 5 != 0) {
                            launch.commit();
                        }
                    }
                }
                case 5 -> events.advanceAll();
                case 6 -> memory.reap();
                default -> {
                    live.remove(block);
                    memory.free(block);
                }
            }
        }

        private void verify() {
            final TrackedMemory.Status status = memory.status();
            assertThat(status.live())
                    .isEqualTo(live.stream().mapToLong(TrackedBlock::byteSize).sum());
            assertThat(status.live() + status.pending()).isEqualTo(device.bytes());
            assertThat(budget.status().charge()).isEqualTo(device.bytes());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void nothingIsLostWhicheverCallFails(boolean forGood) {
        long injected = 0;
        for (Map.Entry<String, Supplier<Throwable>> failure :
                FaultsInTurn.failures().entrySet()) {
            for (long seed = 1; seed <= SEEDS; seed++) {
                injected += run(seed, forGood, failure);
            }
        }
        assertThat(injected).isGreaterThan(100L * SEEDS);
    }

    private static long run(long seed, boolean forGood, Map.Entry<String, Supplier<Throwable>> failure) {
        long failures = 0;
        for (long number = 1; ; number++) {
            final long failed;
            try {
                failed = new Program().run(seed, number, forGood, failure.getValue());
            } catch (Throwable e) {
                throw new AssertionError("seed " + seed + ", call " + number + " fails with " + failure.getKey(), e);
            }
            if (failed == 0) {
                return failures;
            }
            failures += failed;
        }
    }
}
