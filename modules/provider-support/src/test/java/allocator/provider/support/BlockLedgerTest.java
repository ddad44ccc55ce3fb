package allocator.provider.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertThrows;

import allocator.spi.AllocatorStats;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class BlockLedgerTest {
    private static final MemoryInfo MEMORY = new MemoryInfo(
            "Test", new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT), 256, AllocatorType.DEVICE);

    private static final BlockLedger.Return TAKES_ALL_BACK = (address, byteSize) -> {};

    private final BlockLedger ledger = new BlockLedger(MEMORY);

    /** What a device may throw. */
    static List<Throwable> failures() {
        return List.of(
                new DeviceException("failed", null),
                new IllegalStateException("failed"),
                new OutOfMemoryError("failed"),
                new StackOverflowError("failed"),
                new LinkageError("failed"));
    }

    private static BlockLedger.Return failingWith(Throwable failure) {
        return (address, byteSize) -> throwAny(failure);
    }

    @SuppressWarnings("unchecked")
    private static <T extends Throwable> void throwAny(Throwable failure) throws T {
        throw (T) failure;
    }

    private void allocate(long address, long byteSize) {
        assertThat(ledger.allocate(byteSize, size -> address)).isEqualTo(address);
    }

    @Nested
    class Statistics {
        @Test
        void allocationsReservesAndFailuresAreCounted() {
            allocate(0x1000, 100);
            ledger.reserve(300, size -> 0x2000);
            assertThat(ledger.allocate(1, size -> 0)).isZero();
            ledger.failed();
            final AllocatorStats stats = ledger.stats();
            assertThat(stats.numAllocs()).isEqualTo(2);
            assertThat(stats.numReserves()).isEqualTo(1);
            assertThat(stats.numFailedAllocs()).isEqualTo(2);
            assertThat(stats.maxAllocSize()).isEqualTo(300);
            assertThat(stats.bytesInUse()).isEqualTo(400);
            assertThat(stats.bytesHeld()).isEqualTo(400);
            assertThat(stats.limit()).isEqualTo(AllocatorStats.UNLIMITED);
        }

        @Test
        void memoryIsHeldUntilItIsReturned() {
            allocate(0x1000, 100);
            ledger.free(0x1000, (address, byteSize) -> {
                assertThat(byteSize).isEqualTo(100);
                assertThat(ledger.stats().bytesInUse()).isZero();
                assertThat(ledger.stats().bytesHeld()).isEqualTo(100);
                assertThat(ledger.stats().freeBytes()).isEqualTo(100);
            });
            assertThat(ledger.stats().bytesHeld()).isZero();
            assertThat(ledger.stats().peakBytesHeld()).isEqualTo(100);
            assertThat(ledger.stats().peakBytesInUse()).isEqualTo(100);
        }
    }

    @Nested
    class InvalidFree {
        @Test
        void anAddressInsideABlockIsInterior() {
            allocate(0x1000, 100);
            assertThatThrownBy(() -> ledger.free(0x1001, TAKES_ALL_BACK))
                    .isInstanceOf(InteriorAddressException.class)
                    .hasMessageContaining("1 bytes into the block of 100 bytes at 0x1000");
            assertThat(ledger.stats().bytesInUse()).isEqualTo(100);
        }

        @Test
        void anyOtherAddressIsForeign() {
            allocate(0x1000, 100);
            assertThatThrownBy(() -> ledger.free(0x1000 + 100, TAKES_ALL_BACK))
                    .isInstanceOf(ForeignAddressException.class);
            ledger.free(0x1000, TAKES_ALL_BACK);
            assertThatThrownBy(() -> ledger.free(0x1000, TAKES_ALL_BACK)).isInstanceOf(ForeignAddressException.class);
        }

        @Test
        void aBlockOnItsWayBackIsNotFreedAgain() {
            allocate(0x1000, 100);
            ledger.free(
                    0x1000,
                    (address, byteSize) -> assertThatThrownBy(() -> ledger.free(address, TAKES_ALL_BACK))
                            .isInstanceOf(ForeignAddressException.class));
        }
    }

    @Nested
    class FailingDevice {
        /** A free whose block is dead throws a device exception, whatever the device throws. */
        private void assertThatFreeFails(Throwable failure) {
            final DeviceException thrown =
                    assertThrows(DeviceException.class, () -> ledger.free(0x1000, failingWith(failure)));
            assertThat(failure instanceof DeviceException ? thrown : thrown.getCause())
                    .isSameAs(failure);
        }

        @ParameterizedTest
        @MethodSource("allocator.provider.support.BlockLedgerTest#failures")
        void anAllocationThatFailsLeavesNoTrace(Throwable failure) {
            assertThatThrownBy(() -> ledger.allocate(100, size -> {
                        throwAny(failure);
                        return 0;
                    }))
                    .isSameAs(failure);
            assertThat(ledger.isEmpty()).isTrue();
            assertThat(ledger.stats()).isEqualTo(new BlockLedger(MEMORY).stats());
        }

        @ParameterizedTest
        @MethodSource("allocator.provider.support.BlockLedgerTest#failures")
        void memoryThatItDidNotTakeBackStaysHeldAndIsNotFreedAgain(Throwable failure) {
            allocate(0x1000, 100);
            assertThatFreeFails(failure);
            assertThatThrownBy(() -> ledger.free(0x1000, TAKES_ALL_BACK)).isInstanceOf(DoubleFreeException.class);
            assertThat(ledger.stats().bytesHeld()).isEqualTo(100);
            assertThat(ledger.stats().bytesInUse()).isZero();
            assertThat(ledger.returnAgain(0x1000, TAKES_ALL_BACK)).isTrue();
            assertThat(ledger.stats().bytesHeld()).isZero();
        }

        @ParameterizedTest
        @MethodSource("allocator.provider.support.BlockLedgerTest#failures")
        void memoryThatItHandsOutAgainIsHeldAndReturnedOnce(Throwable failure) {
            allocate(0x1000, 100);
            assertThatFreeFails(failure);
            allocate(0x1000, 200);
            assertThat(ledger.stats().bytesInUse()).isEqualTo(200);
            assertThat(ledger.stats().bytesHeld()).isEqualTo(200);
            assertThat(ledger.stats().peakBytesHeld()).isEqualTo(200);
            assertThat(ledger.sizeOf(0x1000)).isEqualTo(200);
            ledger.free(0x1000, TAKES_ALL_BACK);
            assertThat(ledger.isEmpty()).isTrue();
            assertThatThrownBy(() -> ledger.free(0x1000, TAKES_ALL_BACK)).isInstanceOf(ForeignAddressException.class);
        }

        @Test
        void allMemoryInsideABlockThatItHandsOutWasTakenBack() {
            for (long address = 0x1000; address < 0x1400; address += 0x100) {
                allocate(address, 0x100);
            }
            assertThatThrownBy(() -> ledger.returnAll(failingWith(new LinkageError("failed"))))
                    .isInstanceOf(LinkageError.class);
            assertThat(ledger.reserve(0x101, size -> 0x11FF)).isEqualTo(0x11FF);
            assertThat(ledger.stats().bytesHeld()).isEqualTo(0x301);
            final List<Long> returned = new ArrayList<>();
            ledger.returnAll((address, byteSize) -> returned.add(address));
            assertThat(returned).containsExactly(0x11FFL, 0x1000L, 0x1300L);
            assertThat(ledger.isEmpty()).isTrue();
        }

        @ParameterizedTest
        @MethodSource("allocator.provider.support.BlockLedgerTest#failures")
        void allIsTriedAtTheCloseAndCanBeTriedAgain(Throwable failure) {
            allocate(0x1000, 100);
            allocate(0x2000, 200);
            allocate(0x3000, 300);
            assertThatFreeFails(failure);
            final List<Long> tried = new ArrayList<>();
            assertThatThrownBy(() -> ledger.returnAll((address, byteSize) -> {
                        tried.add(address);
                        if (address == 0x2000) {
                            throwAny(failure);
                        }
                    }))
                    .isSameAs(failure);
            assertThat(tried).containsExactly(0x2000L, 0x3000L, 0x1000L);
            assertThat(ledger.stats().bytesHeld()).isEqualTo(200);
            ledger.returnAll(TAKES_ALL_BACK);
            assertThat(ledger.isEmpty()).isTrue();
        }
    }

    @Nested
    class UnreturnedMemory {
        @ParameterizedTest
        @MethodSource("allocator.provider.support.BlockLedgerTest#failures")
        void isHeldUntilAReturnSucceeds(Throwable failure) {
            allocate(0x1000, 100);
            assertThrows(DeviceException.class, () -> ledger.free(0x1000, failingWith(failure)));
            assertThrows(DeviceException.class, () -> ledger.returnAgain(0x1000, failingWith(failure)));
            assertThat(ledger.stats().bytesHeld()).isEqualTo(100);
            assertThat(ledger.returnAgain(0x1000, TAKES_ALL_BACK)).isTrue();
            assertThat(ledger.isEmpty()).isTrue();
            assertThat(ledger.returnAgain(0x1000, failingWith(failure))).isFalse();
        }

        @Test
        void isNotALiveBlock() {
            allocate(0x1000, 100);
            final BlockLedger.Return failing = failingWith(new DeviceException("failed", null));
            assertThat(ledger.returnAgain(0x1000, failing)).isFalse();
            assertThat(ledger.returnAgain(0x2000, failing)).isFalse();
            assertThat(ledger.stats().bytesInUse()).isEqualTo(100);
        }

        @Test
        void isReturnedOnceByTwoThreads() throws Exception {
            allocate(0x1000, 100);
            assertThrows(
                    DeviceException.class, () -> ledger.free(0x1000, failingWith(new DeviceException("failed", null))));
            final FutureTask<Boolean> other = new FutureTask<>(() -> ledger.returnAgain(0x1000, TAKES_ALL_BACK));
            assertThat(ledger.returnAgain(0x1000, (address, byteSize) -> startAndAwaitWait(other)))
                    .isTrue();
            assertThat(other.get()).isFalse();
            assertThat(ledger.isEmpty()).isTrue();
        }

        @Test
        void isNotReturnedWithinItsReturn() {
            allocate(0x1000, 100);
            assertThrows(
                    DeviceException.class, () -> ledger.free(0x1000, failingWith(new DeviceException("failed", null))));
            ledger.returnAgain(0x1000, (address, byteSize) -> {
                assertThat(ledger.returnAgain(address, TAKES_ALL_BACK)).isFalse();
                assertThrows(IllegalStateException.class, () -> allocate(address, byteSize));
            });
            assertThat(ledger.isEmpty()).isTrue();
        }
    }

    /** What another thread does during a call to the device is done by the device here. */
    @Nested
    class OtherThreads {
        @Test
        void memoryOnItsWayBackIsHeld() {
            allocate(0x1000, 100);
            ledger.free(
                    0x1000, (address, byteSize) -> assertThat(ledger.isEmpty()).isFalse());
            assertThat(ledger.isEmpty()).isTrue();
        }

        @Test
        void memoryOnItsWayFromTheDeviceIsHeld() {
            ledger.allocate(100, byteSize -> {
                assertThat(ledger.isEmpty()).isFalse();
                return 0;
            });
            assertThat(ledger.isEmpty()).isTrue();
        }

        @Test
        void aBlockThatAnotherThreadFreesDuringTheCloseIsSkipped() {
            allocate(0x1000, 100);
            allocate(0x2000, 200);
            final List<Long> returned = new ArrayList<>();
            ledger.returnAll((address, byteSize) -> {
                returned.add(address);
                if (address == 0x1000) {
                    ledger.free(0x2000, (other, size) -> returned.add(other));
                }
            });
            assertThat(returned).containsExactly(0x1000L, 0x2000L);
            assertThat(ledger.isEmpty()).isTrue();
        }

        @Test
        void twoClosesReturnEachBlockOnce() {
            allocate(0x1000, 100);
            allocate(0x2000, 200);
            allocate(0x3000, 300);
            assertThrows(DeviceException.class, () -> ledger.free(0x3000, failingWith(new LinkageError("failed"))));
            final List<Long> returned = new ArrayList<>();
            ledger.returnAll((address, byteSize) -> {
                returned.add(address);
                ledger.returnAll((other, size) -> returned.add(other));
            });
            assertThat(returned).containsExactly(0x1000L, 0x2000L, 0x3000L);
            assertThat(ledger.stats().bytesHeld()).isZero();
        }

        @Test
        void aBlockWhoseFreeFailsDuringTheCloseIsTriedOnceMore() {
            allocate(0x1000, 100);
            allocate(0x2000, 200);
            final List<Long> returned = new ArrayList<>();
            ledger.returnAll((address, byteSize) -> {
                returned.add(address);
                if (address == 0x1000) {
                    assertThrows(
                            DeviceException.class,
                            () -> ledger.free(0x2000, failingWith(new IllegalStateException("failed"))));
                }
            });
            assertThat(returned).containsExactly(0x1000L, 0x2000L);
            assertThat(ledger.isEmpty()).isTrue();
        }
    }

    @Test
    void theTablesShrinkWhenBlocksAreFreed() {
        final long before = ledger.heapBytes();
        for (long address = 1; address <= 100_000; address++) {
            allocate(address << 8, 1);
        }
        assertThat(ledger.heapBytes()).isGreaterThan(1_000_000);
        for (long address = 1; address <= 100_000; address++) {
            ledger.free(address << 8, TAKES_ALL_BACK);
        }

        assertThat(ledger.heapBytes()).isEqualTo(before);
    }

    /** A device that throws may have taken the memory, and hands it out before the allocation is entered. */
    @Test
    void aSecondReturnWaitsForAllocationsUnderWay() throws Exception {
        allocate(0x1000, 100);
        assertThatThrownBy(() -> ledger.free(0x1000, failingWith(new DeviceException("taken nevertheless", null))))
                .isInstanceOf(DeviceException.class);
        final BlockLedger.Return device = failingWith(new AssertionError("another allocation's block is freed"));
        final List<Callable<?>> returns = List.of(() -> ledger.returnAgain(0x1000, device), () -> {
            ledger.returnAll(device);
            return false;
        });
        for (final Callable<?> again : returns) {
            final FutureTask<?> task = new FutureTask<>(again);
            ledger.allocate(100, size -> {
                startAndAwaitWait(task);
                return 0x1000;
            });
            assertThat(task.get()).isEqualTo(false);
            assertThatThrownBy(() -> ledger.free(0x1000, failingWith(new DeviceException("taken again", null))))
                    .isInstanceOf(DeviceException.class);
        }
    }

    /** Runs a task in another thread until it waits, or is done. */
    private static void startAndAwaitWait(FutureTask<?> task) {
        final Thread thread = Thread.ofPlatform().daemon().start(task);
        while (thread.getState() != Thread.State.TIMED_WAITING && !task.isDone()) {
            Thread.onSpinWait();
        }
    }
}
