package allocator.runtime;

import static allocator.testkit.FakeMemory.memory;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.runtime.AllocatorReport.Source;
import allocator.runtime.inspection.FailureSnapshots;
import allocator.runtime.inspection.Frames;
import allocator.runtime.lifetime.AllocatorInstances;
import allocator.runtime.lifetime.AllocatorReference;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.ForeignAddressException;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryType;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.UnsupportedMemoryException;
import allocator.testkit.ConstantAllocator;
import allocator.testkit.FakeAllocator;
import allocator.testkit.FakeStream;
import allocator.testkit.Faults;
import allocator.testkit.HeapUse;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

// One class, since every group shares the fixture of one allocator under a session.
class ManagedAllocatorTest {
    private static final MemoryInfo CPU = memory("Cpu", DeviceType.CPU, 0, MemoryType.DEFAULT);

    private final AtomicInteger releases = new AtomicInteger();
    private final AllocatorInstances instances = new AllocatorInstances();

    private ManagedAllocator manage(Allocator target) {
        final AllocatorReference reference = new AllocatorReference(
                instances, "Fake", List.of(), () -> target, returned -> releases.incrementAndGet());
        return new ManagedAllocator(
                reference,
                target,
                "test",
                Source.CREATED,
                AllocatorOptions.EMPTY,
                new FailureSnapshots(null, Frames.OF_RUNTIME, failure -> {
                    throw new AssertionError(failure);
                }),
                () -> {});
    }

    /** The cases of ONNX Runtime's allocator_test on its arena wrapper. */
    @Nested
    class ArenaWrapper {
        private final FakeAllocator.Full full = new FakeAllocator.Full(CPU);
        private final ManagedAllocator allocator = manage(full);

        @Test
        void anAllocatorThatShrinksIsAnArena() {
            assertThat(allocator.isArena()).isTrue();
        }

        @Test
        void anAllocatorThatDoesNotShrinkIsNone() {
            final ManagedAllocator plain = manage(new FakeAllocator(CPU));
            assertThat(plain.isArena()).isFalse();
            assertThat(plain.shrink()).isEqualTo(new ShrinkReport(0, 0, 0, 0, 0));
        }

        @Test
        void allocFreeAndReserveAreEachForwardedOnce() {
            final long block = allocator.alloc(16);
            final long reserved = allocator.reserve(16);
            allocator.free(block);
            assertThat(full.calls("alloc")).isEqualTo(1);
            assertThat(full.calls("reserve")).isEqualTo(1);
            assertThat(full.calls("free")).isEqualTo(1);
            allocator.free(reserved);
        }

        @Test
        void shrinkIsForwardedAndItsReportComesBack() {
            allocator.free(allocator.alloc(16));
            assertThat(full.calls("shrink")).isEqualTo(0);
            final ShrinkReport report = allocator.shrink();
            assertThat(full.calls("shrink")).isEqualTo(1);
            assertThat(report.bytesReleased()).isEqualTo(100);
        }

        @Test
        void anErrorOfShrinkComesBack() {
            full.before(Faults.on("shrink", new DeviceException("cuMemFree: CUDA_ERROR_UNKNOWN", null)));
            assertThatThrownBy(() -> allocator.shrink())
                    .isInstanceOf(DeviceException.class)
                    .hasMessageContaining("CUDA_ERROR_UNKNOWN");
        }

        @Test
        void statisticsComeBackAsTheyAre() {
            allocator.alloc(10);
            assertThat(allocator.stats()).isEqualTo(full.stats());
            assertThat(allocator.stats().bytesInUse()).isEqualTo(10);
        }
    }

    @Nested
    class Levels {
        @ParameterizedTest
        @CsvSource({"1, false", "17, false", "18, true", "25, true", "99, true"})
        void reserveIsCalledFromLevel18(int level, boolean called) {
            final FakeAllocator.Full full = atLevel(level);
            manage(full).reserve(16);
            assertThat(full.calls("reserve") == 1).isEqualTo(called);
            assertThat(full.calls("alloc") == 1).isNotEqualTo(called);
        }

        @ParameterizedTest
        @CsvSource({"1, false", "22, false", "23, true", "25, true"})
        void statisticsAndStreamsAreUsedFromLevel23(int level, boolean called) {
            final FakeAllocator.Full full = atLevel(level);
            final ManagedAllocator allocator = manage(full);
            allocator.alloc(16);
            assertThat(allocator.stats().equals(AllocatorStats.NONE)).isNotEqualTo(called);
            assertThat(full.calls("stats") == 1).isEqualTo(called);
            assertThat(allocator.isStreamAware()).isEqualTo(called);
            allocator.allocOnStream(16, new FakeStream(CPU));
            assertThat(full.calls("allocOnStream") == 1).isEqualTo(called);
            assertThat(full.live()).hasSize(2);
        }

        @ParameterizedTest
        @CsvSource({"1, false", "22, false", "23, true", "25, true"})
        void theDevicesOrderIsReportedFromLevel23(int level, boolean isReported) {
            final FakeAllocator.Full full = atLevel(level);
            assertThat(manage(full).isOrderedByDevice()).isFalse();
            full.orderedByDevice(true);
            assertThat(manage(full).isOrderedByDevice()).isEqualTo(isReported);
            assertThat(manage(new FakeAllocator(CPU)).isOrderedByDevice()).isFalse();
        }

        @ParameterizedTest
        @CsvSource({"1, false", "24, false", "25, true", "26, true"})
        void shrinkMakesAnArenaFromLevel25(int level, boolean arena) {
            assertThat(manage(atLevel(level)).isArena()).isEqualTo(arena);
        }

        @ParameterizedTest
        @CsvSource({"22, false, false", "23, true, false", "25, true, true"})
        void capabilitiesAreThoseOfTheLevelAndTheirCallsCount(int level, boolean hasStreams, boolean shrinks) {
            final FakeAllocator.Full full = atLevel(level);
            final ManagedAllocator allocator = manage(full);
            final Optional<StreamAwareAllocator> onStreams = allocator.as(StreamAwareAllocator.class);
            assertThat(onStreams.isPresent()).isEqualTo(hasStreams);
            onStreams.ifPresent(aware -> {
                final long block = aware.allocOnStream(16, new FakeStream(CPU));
                assertThat(allocator.liveBlocks()).isOne();
                aware.free(block);
                assertThat(allocator.liveBlocks()).isZero();
            });
            final Optional<ShrinkableAllocator> arena = allocator.as(ShrinkableAllocator.class);
            assertThat(arena.isPresent()).isEqualTo(shrinks);
            arena.ifPresent(ShrinkableAllocator::shrink);
            assertThat(full.calls("shrink") == 1).isEqualTo(shrinks);
            assertThat(allocator.as(HostAccessibleAllocator.class)).isEmpty();
            assertThat(allocator.as(Allocator.class)).contains(allocator);
        }

        private FakeAllocator.Full atLevel(int level) {
            final FakeAllocator.Full full = new FakeAllocator.Full(CPU);
            full.spiLevel(level);
            return full;
        }
    }

    @Test
    void allocOnStreamFallsBackToAllocWhereThereAreNoStreams() {
        final FakeAllocator plain = new FakeAllocator(CPU);
        final ManagedAllocator allocator = manage(plain);
        allocator.allocOnStream(16, new FakeStream(CPU));
        assertThat(plain.calls("alloc")).isEqualTo(1);
        assertThatThrownBy(() -> allocator.allocOnStream(16, null)).isInstanceOf(NullPointerException.class);
    }

    @Test
    void theEmptyAllocationNeverReachesTheProvider() {
        final FakeAllocator.Full full = new FakeAllocator.Full(CPU);
        full.before(Faults.on("", new AssertionError("called")));
        final ManagedAllocator allocator = manage(full);
        assertThat(allocator.alloc(0)).isZero();
        assertThat(allocator.reserve(0)).isZero();
        assertThat(allocator.allocOnStream(0, new FakeStream(CPU))).isZero();
        allocator.free(0);
        assertThat(allocator.liveBlocks()).isZero();
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, Long.MIN_VALUE})
    void negativeSizesAreRejected(long byteSize) {
        final ManagedAllocator allocator = manage(new FakeAllocator.Full(CPU));
        final FakeStream stream = new FakeStream(CPU);
        assertThatThrownBy(() -> allocator.alloc(byteSize)).isInstanceOf(InvalidSizeException.class);
        assertThatThrownBy(() -> allocator.reserve(byteSize)).isInstanceOf(InvalidSizeException.class);
        assertThatThrownBy(() -> allocator.allocOnStream(byteSize, stream)).isInstanceOf(InvalidSizeException.class);
    }

    @Nested
    class ProviderFaults {
        private final FakeAllocator.Full full = new FakeAllocator.Full(CPU);
        private final ManagedAllocator allocator = manage(full);
        private final FakeStream stream = new FakeStream(CPU);

        @Test
        void exceptionsOfTheContractComeThroughAsTheyAre() {
            final OutOfMemoryException exhausted =
                    new OutOfMemoryException("no", OutOfMemoryException.Shortage.ofDevice(CPU, 1, 2));
            full.before(Faults.on("", exhausted));
            assertThatThrownBy(() -> allocator.alloc(1)).isSameAs(exhausted);
            assertThatThrownBy(() -> allocator.reserve(1)).isSameAs(exhausted);
            assertThatThrownBy(() -> allocator.allocOnStream(1, stream)).isSameAs(exhausted);
            assertThat(allocator.liveBlocks()).isZero();
        }

        @Test
        void aBadFreeComesThroughAndChangesNothing() {
            final long block = allocator.alloc(8);
            assertThatThrownBy(() -> allocator.free(block + 1)).isInstanceOf(ForeignAddressException.class);
            assertThat(allocator.liveBlocks()).isOne();
        }

        @Test
        void anythingElseIsNamedAsTheProvidersFault() {
            final IllegalArgumentException odd = new IllegalArgumentException("odd");
            full.before(Faults.on("", odd));
            final long nothing = 77;
            assertThatThrownBy(() -> allocator.alloc(1))
                    .isInstanceOf(ProviderException.class)
                    .hasMessage("provider Fake threw from alloc: java.lang.IllegalArgumentException: odd")
                    .hasCause(odd);
            assertThatThrownBy(() -> allocator.reserve(1)).isInstanceOf(ProviderException.class);
            assertThatThrownBy(() -> allocator.free(nothing)).isInstanceOf(ProviderException.class);
            assertThatThrownBy(allocator::stats).isInstanceOf(ProviderException.class);
            assertThatThrownBy(allocator::report).isInstanceOf(ProviderException.class);
            assertThat(allocator.liveBlocks()).isZero();
        }

        @Test
        void missingNativeSymbolsAreTheProvidersFault() {
            full.before(operation -> {
                throw new UnsatisfiedLinkError("cuMemAlloc");
            });
            assertThatThrownBy(() -> allocator.alloc(1))
                    .isInstanceOf(ProviderException.class)
                    .hasMessageContaining("cuMemAlloc");
        }

        @Test
        void theJvmsOwnDistressIsNotHidden() {
            full.before(operation -> {
                throw new OutOfMemoryError("heap");
            });
            assertThatThrownBy(() -> allocator.alloc(1)).isInstanceOf(OutOfMemoryError.class);
        }

        @Test
        void misuseOfAStreamIsTheCallersFault() {
            full.before(Faults.on("allocOnStream", new IllegalStateException("stream is closed")));
            assertThatThrownBy(() -> allocator.allocOnStream(1, stream))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("stream is closed");
            assertThat(allocator.liveBlocks()).isZero();
        }

        @Test
        void addressZeroForMemoryIsRejected() {
            final ManagedAllocator broken = manage(new FakeAllocator(CPU) {
                @Override
                public long alloc(long byteSize) {
                    return 0;
                }
            });
            assertThatThrownBy(() -> broken.alloc(5))
                    .isInstanceOf(ProviderException.class)
                    .hasMessage("provider Fake returned address 0 from alloc(5)");
            assertThat(broken.liveBlocks()).isZero();
        }

        @Test
        void aFreeTakesEffectThoughAProviderOfAnEarlierContractReportsItsDevice() {
            final long block = allocator.alloc(8);
            full.before(Faults.on("free", new DeviceException("cuMemFree", null)));
            allocator.free(block);
            assertThat(allocator.liveBlocks()).isZero();
        }
    }

    @Nested
    class Closing {
        private final FakeAllocator.Full full = new FakeAllocator.Full(CPU);
        private final ManagedAllocator allocator = manage(full);

        @Test
        void withoutBlocksTheReferenceGoesBackAtOnce() {
            allocator.close();
            assertThat(releases).hasValue(1);
            assertThatThrownBy(() -> allocator.alloc(1)).isInstanceOf(AllocatorClosedException.class);
            assertThatThrownBy(() -> allocator.alloc(0)).isInstanceOf(AllocatorClosedException.class);
            assertThatThrownBy(() -> allocator.free(1)).isInstanceOf(AllocatorClosedException.class);
            assertThatThrownBy(allocator::stats).isInstanceOf(AllocatorClosedException.class);
            assertThatThrownBy(() -> allocator.shrink()).isInstanceOf(AllocatorClosedException.class);
        }

        @Test
        void theLastFreeGivesTheReferenceBack() {
            final long first = allocator.alloc(1);
            final long second = allocator.reserve(1);
            allocator.close();
            assertThatThrownBy(() -> allocator.alloc(1)).isInstanceOf(AllocatorClosedException.class);
            assertThat(allocator.stats().bytesInUse()).isEqualTo(2);
            allocator.free(first);
            assertThat(releases).hasValue(0);
            assertThatThrownBy(() -> allocator.free(first)).isInstanceOf(ForeignAddressException.class);
            assertThat(releases).hasValue(0);
            allocator.free(second);
            assertThat(releases).hasValue(1);
            allocator.close();
            assertThat(releases).hasValue(1);
        }

        @Test
        void aCloseDuringAnAllocationWaitsForItsBlock() {
            full.before(operation -> {
                if (operation.equals("alloc")) {
                    allocator.close();
                }
            });
            final long block = allocator.alloc(1);
            assertThat(releases).hasValue(0);
            allocator.free(block);
            assertThat(releases).hasValue(1);
        }

        @Test
        void aRejectedAllocationDoesNotKeepIt() {
            final long block = allocator.alloc(1);
            allocator.lease().rejectAllocations();
            assertThatThrownBy(() -> allocator.alloc(1)).isInstanceOf(AllocatorClosedException.class);
            allocator.free(block);
            assertThat(releases).hasValue(0);
            allocator.close();
            assertThat(releases).hasValue(1);
        }

        /** The free would wait for the provider's call, which may wait for the freeing thread. */
        @Test
        void theLastFreeDoesNotWaitForAHold() {
            final long block = allocator.alloc(1);
            full.before(operation -> {
                if (operation.equals("stats")) {
                    allocator.close();
                    allocator.free(block);
                    assertThat(releases).hasValue(0);
                }
            });
            allocator.stats();
            assertThat(releases).hasValue(1);
        }

        @Test
        void aPausedAllocationWaitsAndIsMadeWhenAllocationsResume() throws Exception {
            allocator.lease().pauseAllocations();
            final Future<Long> block = startAllocation();
            allocator.lease().resumeAllocations();
            allocator.free(block.get());
            assertThat(releases).hasValue(0);
        }

        @Test
        void aPausedAllocationIsRejectedIfTheOwnerCloses() throws Exception {
            allocator.lease().pauseAllocations();
            final Future<Long> block = startAllocation();
            allocator.close();
            assertThatThrownBy(block::get).hasCauseInstanceOf(AllocatorClosedException.class);
            assertThat(releases).hasValue(1);
        }

        /** Starts an allocation by another thread, and returns when it waits. */
        private Future<Long> startAllocation() throws InterruptedException {
            final FutureTask<Long> task = new FutureTask<>(() -> allocator.alloc(1));
            final Thread thread = Thread.ofPlatform().daemon().start(task);
            while (thread.getState() != Thread.State.WAITING) {
                assertThat(task.isDone()).isFalse();
                Thread.sleep(1);
            }
            return task;
        }

        @Test
        void blocksFreedThroughAnotherOwnerDoNotKeepItIndefinitely() {
            final ManagedAllocator other = manage(full);
            other.free(allocator.alloc(1));
            allocator.close();
            assertThat(releases).hasValue(1);
        }

        @Test
        void blocksFreedThroughAnotherOwnerAfterTheCloseAreFoundWhenItIsSettled() {
            final ManagedAllocator other = manage(full);
            final long mine = allocator.alloc(1);
            allocator.close();
            other.free(mine);
            assertThat(releases).hasValue(0);
            allocator.lease().settle();
            assertThat(releases).hasValue(1);
        }

        @Test
        void aBlockOfAnotherOwnerKeepsItWhenTheCountsAreMixedUp() {
            final ManagedAllocator other = manage(full);
            other.free(allocator.alloc(1));
            final long others = other.alloc(1);
            allocator.close();
            allocator.lease().settle();
            assertThat(releases).hasValue(0);
            other.free(others);
            allocator.lease().settle();
            assertThat(releases).hasValue(1);
            final long later = other.alloc(1);
            other.close();
            other.lease().settle();
            assertThat(releases)
                    .as("a block is live, although the other owner freed one too many")
                    .hasValue(1);
            other.free(later);
        }
    }

    @Test
    void onlyHostMemoryIsSeenAsASegment() {
        final MemorySegment expected = MemorySegment.ofArray(new byte[4]);
        class Host extends FakeAllocator implements HostAccessibleAllocator {
            Host() {
                super(CPU);
            }

            @Override
            public MemorySegment segment(long address, long byteSize) {
                return expected.asSlice(0, byteSize);
            }
        }
        final ManagedAllocator host = manage(new Host());
        assertThat(host.isHostAccessible()).isTrue();
        assertThat(host.segment(host.alloc(3), 3).byteSize()).isEqualTo(3);
        final ManagedAllocator device = manage(new FakeAllocator.Full(CPU));
        assertThat(device.isHostAccessible()).isFalse();
        assertThatThrownBy(() -> device.segment(1, 1)).isInstanceOf(UnsupportedMemoryException.class);
    }

    /** A pair that made one object of 16 bytes each would show as 320,000 bytes. */
    @Test
    void allocAndFreeMakeNoJavaObjects() {
        final ManagedAllocator allocator = manage(new ConstantAllocator(CPU));
        final FakeStream stream = new FakeStream(CPU);
        churn(allocator, stream);
        final long before = HeapUse.ofThisThread();
        churn(allocator, stream);
        assertThat(HeapUse.ofThisThread() - before).isLessThan(20_000);
    }

    private static void churn(ManagedAllocator allocator, FakeStream stream) {
        for (int i = 0; i < 10_000; i++) {
            allocator.free(allocator.alloc(8));
            allocator.free(allocator.allocOnStream(8, stream));
        }
    }
}
