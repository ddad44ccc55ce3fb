package allocator.resource.tracked;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.provider.support.budget.Budget;
import allocator.resource.FakeResource;
import allocator.resource.StackOrderException;
import allocator.resource.StreamBoundResource;
import allocator.resource.budget.BudgetResource;
import allocator.spi.DeviceException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import allocator.testkit.FakeStream;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** Tracked memory of 8 MiB on two streams that lag. What needs a device is in {@code CudaTrackedMemoryTest}. */
// One class, since all groups share the memory, its device and the check after each test.
class TrackedMemoryTest {
    private static final long MIB = 1 << 20;

    private final FakeResource resource = new FakeResource(64 * MIB);
    private final FakeEvents events = new FakeEvents();
    private final Budget budget = Budget.of("device", 8 * MIB);
    private final TrackedMemory memory = new TrackedMemory(resource, events, budget);
    private final FakeStream one = new FakeStream(resource.memory());
    private final FakeStream two = new FakeStream(resource.memory());

    @AfterEach
    void nothingIsLeft() {
        resource.afterFree(() -> {});
        events.advanceAll();
        memory.reap();
        events.advanceAll(); // events recorded by the reap for uses without one
        assertThat(memory.reap(Duration.ofSeconds(10))).isTrue();
        memory.close();
        assertThat(events.live()).isZero();
        assertThat(resource.blocks()).isZero();
        assertThat(budget.status().charge()).isZero();
    }

    private void write(TrackedBlock block, SyncStream stream) {
        memory.prepare(block, Access.WRITE, stream);
        memory.finish(block, Access.WRITE, stream);
    }

    private void read(TrackedBlock block, SyncStream stream) {
        memory.prepare(block, Access.READ, stream);
        memory.finish(block, Access.READ, stream);
    }

    @Nested
    class Waits {
        @Test
        void theFirstUseOnAnotherStreamWaitsForTheAllocation() {
            TrackedBlock block = memory.allocate(MIB, one, "test");
            write(block, two);
            assertThat(events.waits()).isEqualTo(1);
            memory.free(block);
        }

        @Test
        void oneStreamNeverWaitsForItself() {
            TrackedBlock block = memory.allocate(MIB, one, "test");
            for (int i = 0; i < 10; i++) {
                write(block, one);
            }
            assertThat(events.waits()).isZero();
            memory.free(block);
        }

        @Test
        void aStreamWaitsForAWriteOnceHoweverOftenItReads() {
            TrackedBlock block = memory.allocate(MIB, one, "test");
            TrackedBlock target = memory.allocate(MIB, two, "target");
            for (int i = 0; i < 10; i++) {
                try (TrackedLaunch launch = memory.launch(two)
                        .uses(block, Access.READ)
                        .uses(target, Access.WRITE)
                        .uses(target, Access.READ)) {
                    launch.prepare();
                    launch.commit();
                }
            }
            assertThat(events.waits()).isEqualTo(1);
            memory.free(block);
            memory.free(target);
        }

        @Test
        void aWriteWaitsForTheReadsOfOtherStreams() {
            TrackedBlock block = memory.allocate(MIB, one, "test");
            read(block, two);
            int waits = events.waits();
            read(block, one);
            assertThat(events.waits()).isEqualTo(waits);
            write(block, one);
            assertThat(events.waits()).isEqualTo(waits + 1);
            memory.free(block);
        }

        @Test
        void manyReadsOnAStreamKeepOneEvent() {
            TrackedBlock block = memory.allocate(MIB, one, "test");
            for (int i = 0; i < 100; i++) {
                read(block, two);
            }
            assertThat(events.mostLive()).isLessThanOrEqualTo(3);
            memory.free(block);
        }

        @Test
        void aWaitThatFailsCanBeRetried() {
            TrackedBlock block = memory.allocate(MIB, one, "test");
            events.failNext("await");
            assertThatThrownBy(() -> memory.prepare(block, Access.WRITE, two)).isInstanceOf(DeviceException.class);
            write(block, two);
            assertThat(events.waits()).isEqualTo(1);
            memory.free(block);
        }
    }

    @Nested
    class Bytes {
        @Test
        void bytesMoveFromLiveToPendingToAvailable() {
            TrackedBlock block = memory.allocate(3 * MIB, one, "test");
            assertThat(memory.status()).isEqualTo(new TrackedMemory.Status(3 * MIB, 0, 5 * MIB));
            write(block, one);
            memory.free(block);
            assertThat(memory.status()).isEqualTo(new TrackedMemory.Status(0, 3 * MIB, 5 * MIB));
            assertThat(memory.reap()).isZero();
            assertThat(memory.reap(Duration.ofMillis(1))).isFalse();
            events.advance(one);
            assertThat(memory.reap()).isEqualTo(3 * MIB);
            assertThat(memory.status()).isEqualTo(new TrackedMemory.Status(0, 0, 8 * MIB));
        }

        @Test
        void aReapMayHaveNoTimeLimit() throws Exception {
            TrackedBlock block = memory.allocate(MIB, one, "test");
            memory.free(block);
            try (var thread = Executors.newSingleThreadExecutor()) {
                Future<Boolean> isEmpty = thread.submit(() -> memory.reap(ChronoUnit.FOREVER.getDuration()));
                Thread.sleep(5);
                events.advance(one);
                assertThat(isEmpty.get()).isTrue();
            }
        }

        @Test
        void anInterruptStaysPendingAndDoesNotMakeAReapSpin() throws Exception {
            TrackedBlock block = memory.allocate(MIB, one, "test");
            memory.free(block);
            AtomicBoolean isInterrupted = new AtomicBoolean();
            int before = events.probes();
            Thread.ofPlatform()
                    .start(() -> {
                        Thread.currentThread().interrupt();
                        memory.reap(Duration.ofMillis(20));
                        isInterrupted.set(Thread.currentThread().isInterrupted());
                    })
                    .join();
            // One in 50 microseconds.
            assertThat(events.probes() - before).isLessThan(1000);
            assertThat(isInterrupted).isTrue();
            events.advance(one);
            assertThat(memory.reap()).isEqualTo(MIB);
        }

        @Test
        void anAllocationWithoutRoomReapsAndReportsWhatIsPending() {
            TrackedBlock block = memory.allocate(8 * MIB, one, "test");
            memory.free(block);
            assertThatThrownBy(() -> memory.allocate(1, one, "more"))
                    .isInstanceOfSatisfying(
                            OutOfMemoryException.class,
                            e -> assertThat(e.dump())
                                    .startsWith("request of 1 bytes to device/tracked\n")
                                    .endsWith("0 bytes live, 8388608 pending, 0 available"));
            events.advance(one);
            memory.free(memory.allocate(8 * MIB, one, "again"));
            assertThatThrownBy(() -> memory.allocate(8 * MIB + 1, one, "too much"))
                    .isInstanceOf(OutOfMemoryException.class);
            assertThatThrownBy(() -> memory.allocate(0, one, "nothing")).isInstanceOf(IllegalArgumentException.class);
        }

        @Test
        void anAllocationWhoseUpstreamIsOutOfMemoryReapsAndRetries() {
            Budget wide = Budget.of("wide", 100 * MIB);
            TrackedMemory narrow =
                    new TrackedMemory(new BudgetResource(resource, Budget.of("small", MIB)), events, wide);
            narrow.free(narrow.allocate(MIB, one, "first"));
            events.advanceAll();
            TrackedBlock second = narrow.allocate(MIB, one, "second");
            assertThatThrownBy(() -> narrow.allocate(MIB, one, "third")).isInstanceOf(OutOfMemoryException.class);
            assertThat(narrow.status().live()).isEqualTo(MIB);
            narrow.free(second);
            events.advanceAll();
            assertThat(narrow.reap()).isEqualTo(MIB);
        }

        @Test
        void anAllocationWhoseEventFailsLeavesNothing() {
            events.failNext("record");
            assertThatThrownBy(() -> memory.allocate(MIB, one, "test")).isInstanceOf(DeviceException.class);
            assertThat(memory.status()).isEqualTo(new TrackedMemory.Status(0, 0, 8 * MIB));
        }

        @Test
        void whileThreadsFreeAndReapTheSumsAlwaysHold() throws Exception {
            AtomicBoolean isOver = new AtomicBoolean();
            try (var threads = Executors.newFixedThreadPool(3)) {
                Future<?> watcher = threads.submit(() -> {
                    while (!isOver.get()) {
                        TrackedMemory.Status status = memory.status();
                        assertThat(status.live() + status.pending() + status.available())
                                .isEqualTo(8 * MIB);
                        memory.reap();
                    }
                });
                List<Future<?>> users = new ArrayList<>();
                for (SyncStream stream : List.of(one, two)) {
                    users.add(threads.submit(() -> {
                        for (int i = 0; i < 500; i++) {
                            TrackedBlock block = memory.allocate(1000, stream, "worker");
                            write(block, stream);
                            memory.free(block);
                            events.advance(stream);
                        }
                    }));
                }
                try {
                    for (Future<?> user : users) {
                        user.get();
                    }
                } finally {
                    isOver.set(true);
                }
                watcher.get();
            }
        }
    }

    @Nested
    class Reaping {
        @Test
        void aBlockUsedByTwoStreamsIsReturnedWhenBothAreDone() {
            TrackedBlock block = memory.allocate(MIB, one, "test");
            read(block, one);
            read(block, two);
            memory.free(block);
            events.advance(one);
            assertThat(memory.reap()).isZero();
            events.advance(two);
            assertThat(memory.reap()).isEqualTo(MIB);
        }

        @Test
        void aBlockOfALaunchWhoseCallbackThrowsIsReapedAfterAllWorkOfItsStream() {
            TrackedBlock block = memory.allocate(MIB, one, "test");
            assertThatThrownBy(
                            () -> memory.launch(two).uses(block, Access.WRITE).run(stream -> {
                                throw new IllegalStateException("no kernel");
                            }))
                    .hasMessage("no kernel");
            memory.free(block);
            events.advance(one);
            assertThat(memory.reap()).isZero();
            events.advance(two);
            assertThat(memory.reap()).isEqualTo(MIB);
        }

        @Test
        void aCallbackThatFinishesAUseItselfLeavesTheOtherBlocksFree() {
            TrackedBlock first = memory.allocate(MIB, one, "first");
            TrackedBlock second = memory.allocate(MIB, one, "second");
            assertThatThrownBy(() -> memory.launch(two)
                            .uses(first, Access.WRITE)
                            .uses(second, Access.WRITE)
                            .run(stream -> memory.finish(first, Access.WRITE, stream)))
                    .isInstanceOf(TrackedBlockException.class);
            memory.free(first);
            memory.free(second);
        }

        @Test
        void aReapThatFailsForABlockLeavesItPending() {
            TrackedBlock first = memory.allocate(MIB, one, "first");
            TrackedBlock second = memory.allocate(MIB, one, "second");
            memory.free(first);
            memory.free(second);
            events.advanceAll();
            events.failNext("isDone");
            assertThatThrownBy(memory::reap).isInstanceOf(DeviceException.class);
            assertThat(memory.status()).isEqualTo(new TrackedMemory.Status(0, MIB, 7 * MIB));
            assertThat(memory.reap()).isEqualTo(MIB);
        }

        @Test
        void aBlockWhoseDeallocationFailsStaysPending() {
            TrackedBlock block = memory.allocate(MIB, one, "test");
            memory.free(block);
            events.advanceAll();
            resource.before(call -> {
                throw new DeviceException("the driver fails", null);
            });
            assertThatThrownBy(memory::reap).isInstanceOf(DeviceException.class);
            assertThat(memory.status()).isEqualTo(new TrackedMemory.Status(0, MIB, 7 * MIB));
            resource.before(call -> {});
            assertThat(memory.reap()).isEqualTo(MIB);
        }

        @Test
        void closeThrowsWhileBlocksAreLive() {
            TrackedBlock block = memory.allocate(MIB, one, "kept");
            assertThatThrownBy(memory::close)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("kept");
            memory.free(block);
        }
    }

    @Nested
    class Misuse {
        @Test
        void staleForeignAndMisorderedUsesAreDistinguishedAndNameTheTag() {
            TrackedBlock block = memory.allocate(MIB, one, "scores");
            assertThatThrownBy(() -> memory.finish(block, Access.READ, one))
                    .hasFieldOrPropertyWithValue("kind", TrackedBlockException.Kind.MISORDERED)
                    .hasMessageContaining("block 'scores' of 1048576 bytes");
            memory.prepare(block, Access.READ, one);
            assertThatThrownBy(() -> memory.finish(block, Access.WRITE, one))
                    .hasFieldOrPropertyWithValue("kind", TrackedBlockException.Kind.MISORDERED);
            assertThatThrownBy(() -> memory.prepare(block, Access.WRITE, two))
                    .hasFieldOrPropertyWithValue("kind", TrackedBlockException.Kind.MISORDERED);
            assertThatThrownBy(() -> memory.free(block))
                    .hasFieldOrPropertyWithValue("kind", TrackedBlockException.Kind.MISORDERED);
            memory.finish(block, Access.READ, one);
            assertThat(memory.find(block.address(), block.generation())).isSameAs(block);
            memory.free(block);
            assertThatThrownBy(() -> memory.free(block))
                    .hasFieldOrPropertyWithValue("kind", TrackedBlockException.Kind.STALE);
            assertThatThrownBy(() -> memory.prepare(block, Access.READ, one))
                    .hasFieldOrPropertyWithValue("kind", TrackedBlockException.Kind.STALE)
                    .hasMessageContaining("scores");
            assertThatThrownBy(() -> memory.find(block.address(), block.generation()))
                    .hasFieldOrPropertyWithValue("kind", TrackedBlockException.Kind.STALE);
            TrackedMemory other = new TrackedMemory(resource, events, Budget.of("other", 1));
            assertThatThrownBy(() -> other.free(block))
                    .hasFieldOrPropertyWithValue("kind", TrackedBlockException.Kind.FOREIGN);
            assertThatThrownBy(() -> other.launch(one).uses(block, Access.READ))
                    .hasFieldOrPropertyWithValue("kind", TrackedBlockException.Kind.FOREIGN);
        }

        @Test
        void aReusedAddressHasANewGeneration() {
            TrackedBlock old = memory.allocate(MIB, one, "old");
            memory.free(old);
            events.advanceAll();
            memory.reap();
            TrackedBlock young = memory.allocate(MIB, one, "young");
            assertThat(young.address()).isEqualTo(old.address());
            assertThat(young.generation()).isGreaterThan(old.generation());
            assertThatThrownBy(() -> memory.find(old.address(), old.generation()))
                    .hasFieldOrPropertyWithValue("kind", TrackedBlockException.Kind.STALE)
                    .hasMessageContaining("young");
            memory.free(young);
        }

        @Test
        void readsOfTwoStreamsMayOverlapAndAWriteMayNot() {
            TrackedBlock block = memory.allocate(MIB, one, "test");
            memory.prepare(block, Access.READ, one);
            memory.prepare(block, Access.READ, two);
            memory.finish(block, Access.READ, one);
            memory.finish(block, Access.READ, two);
            memory.prepare(block, Access.WRITE, one);
            assertThatThrownBy(() -> memory.prepare(block, Access.READ, two))
                    .hasFieldOrPropertyWithValue("kind", TrackedBlockException.Kind.MISORDERED);
            memory.finish(block, Access.WRITE, one);
            memory.free(block);
        }

        @Test
        void invalidStacksAreRejected() {
            assertThatThrownBy(() -> new TrackedMemory(new BudgetResource(resource, budget), events, budget))
                    .isInstanceOf(StackOrderException.class);
            var bound = new StreamBoundResource(resource, one);
            assertThatThrownBy(() -> new TrackedMemory(bound, events, Budget.of("other", 1)))
                    .isInstanceOf(StackOrderException.class);
        }
    }

    @Nested
    class Launches {
        @Test
        void aLaunchPreparesAllBlocksOrNone() {
            TrackedBlock good = memory.allocate(MIB, one, "good");
            TrackedBlock freed = memory.allocate(MIB, one, "freed");
            memory.free(freed);
            TrackedLaunch launch = memory.launch(two).uses(good, Access.WRITE).uses(freed, Access.READ);
            assertThatThrownBy(launch::prepare).hasFieldOrPropertyWithValue("kind", TrackedBlockException.Kind.STALE);
            memory.free(good);
        }

        @Test
        void aCancelledLaunchLeavesNoTrace() {
            TrackedBlock block = memory.allocate(MIB, one, "test");
            TrackedLaunch launch = memory.launch(two).uses(block, Access.WRITE);
            launch.prepare();
            launch.cancel();
            launch.close();
            memory.free(block);
            assertThatThrownBy(launch::cancel).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(launch::prepare).isInstanceOf(IllegalStateException.class);
        }

        @Test
        void aBlockAddedTwiceIsUsedOnceWithItsStrongestAccess() {
            TrackedBlock block = memory.allocate(MIB, one, "test");
            TrackedLaunch launch = memory.launch(one)
                    .uses(block, Access.READ)
                    .uses(block, Access.WRITE)
                    .uses(block, Access.READ);
            launch.prepare();
            assertThatThrownBy(() -> memory.prepare(block, Access.READ, two))
                    .hasFieldOrPropertyWithValue("kind", TrackedBlockException.Kind.MISORDERED);
            assertThatThrownBy(() -> launch.uses(block, Access.READ)).isInstanceOf(IllegalStateException.class);
            int records = events.records();
            launch.commit();
            assertThat(events.records()).isEqualTo(records + 1);
            memory.free(block);
        }
    }
}
