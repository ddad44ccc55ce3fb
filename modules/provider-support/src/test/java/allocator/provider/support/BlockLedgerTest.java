package allocator.provider.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.AllocatorSnapshot.State;
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
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What other threads do during a call to the device is done by the device here. */
class BlockLedgerTest {
    private static final MemoryInfo MEMORY = new MemoryInfo(
            "Test", new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT), 256, AllocatorType.DEVICE);

    private static final BlockLedger.Device TAKES_ALL_BACK = (address, byteSize) -> {};

    private final List<Long> returned = new ArrayList<>();
    private BlockLedger.Device device = TAKES_ALL_BACK;

    private final BlockLedger<Void> ledger = BlockLedger.of(MEMORY, (address, byteSize) -> {
        returned.add(address);
        device.giveBack(address, byteSize);
    });

    /** What a device may throw. */
    static List<Throwable> failures() {
        return List.of(
                new DeviceException("failed", null),
                new IllegalStateException("failed"),
                new OutOfMemoryError("failed"),
                new StackOverflowError("failed"),
                new LinkageError("failed"));
    }

    private static BlockLedger.Device failingWith(Throwable failure) {
        return (address, byteSize) -> throwAny(failure);
    }

    @SuppressWarnings("unchecked")
    private static <T extends Throwable> void throwAny(Throwable failure) throws T {
        throw (T) failure;
    }

    private void allocate(long address, long byteSize) {
        assertThat(ledger.allocate(byteSize, size -> address)).isEqualTo(address);
    }

    private void free(long address) {
        ledger.free(address);
    }

    private long counter(String name) {
        return ledger.stats().counter(name).orElseThrow().value();
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
        void memoryIsHeldUntilTheDeviceHasTakenItBack() {
            allocate(0x1000, 100);
            device = (address, byteSize) -> {
                assertThat(byteSize).isEqualTo(100);
                assertThat(ledger.stats().bytesInUse()).isZero();
                assertThat(ledger.stats().bytesHeld()).isEqualTo(100);
                assertThat(ledger.stats().freeBytes()).isEqualTo(100);
            };
            free(0x1000);
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
            assertThatThrownBy(() -> free(0x1001))
                    .isInstanceOf(InteriorAddressException.class)
                    .hasMessageContaining("1 bytes into the block of 100 bytes at 0x1000");
            assertThat(ledger.stats().bytesInUse()).isEqualTo(100);
        }

        @Test
        void anyOtherAddressIsForeign() {
            allocate(0x1000, 100);
            assertThatThrownBy(() -> free(0x1000 + 100)).isInstanceOf(ForeignAddressException.class);
            free(0x1000);
            assertThatThrownBy(() -> free(0x1000)).isInstanceOf(ForeignAddressException.class);
        }

        @Test
        void aBlockOnItsWayBackIsNotFreedAgain() {
            allocate(0x1000, 100);
            device = (address, byteSize) ->
                    assertThatThrownBy(() -> free(address)).isInstanceOf(ForeignAddressException.class);
            free(0x1000);
            assertThat(returned).containsExactly(0x1000L);
        }
    }

    @Nested
    class FailingDevice {
        @ParameterizedTest
        @MethodSource("allocator.provider.support.BlockLedgerTest#failures")
        void anAllocationThatFailsLeavesNoTrace(Throwable failure) {
            assertThatThrownBy(() -> ledger.allocate(100, size -> {
                        throwAny(failure);
                        return 0;
                    }))
                    .isSameAs(failure);
            assertThat(ledger.isEmpty()).isTrue();
            assertThat(ledger.stats().numAllocs()).isZero();
        }

        @ParameterizedTest
        @MethodSource("allocator.provider.support.BlockLedgerTest#failures")
        void aFreeTakesEffectAndTheMemoryStaysHeldUntilTheDeviceTakesIt(Throwable failure) {
            allocate(0x1000, 100);
            device = failingWith(failure);
            assertThatCode(() -> free(0x1000)).doesNotThrowAnyException();
            assertThat(returned).as("asked twice").containsExactly(0x1000L, 0x1000L);
            assertThatThrownBy(() -> free(0x1000)).isInstanceOf(DoubleFreeException.class);
            assertThat(ledger.stats().bytesHeld()).isEqualTo(100);
            assertThat(ledger.stats().bytesInUse()).isZero();
            assertThat(counter("failedReturns")).isEqualTo(1);
            assertThat(counter("unreturnedBytes")).isEqualTo(100);
            assertThat(ledger.inspect().blocks())
                    .singleElement()
                    .satisfies(block -> assertThat(block.state()).isEqualTo(State.UNRETURNED));
            assertThat(ledger.returnAgain()).isZero();
            device = TAKES_ALL_BACK;
            assertThat(ledger.returnAgain()).isEqualTo(100);
            assertThat(ledger.isEmpty()).isTrue();
            assertThat(counter("unreturnedBytes")).isZero();
        }

        @Test
        void aFailureOfEarlierWorkIsFollowedByASecondCallAtOnce() {
            allocate(0x1000, 100);
            device = (address, byteSize) -> {
                if (returned.size() == 1) {
                    throw new DeviceException("of earlier work", null);
                }
            };
            free(0x1000);
            assertThat(ledger.isEmpty()).isTrue();
            assertThat(counter("failedReturns")).isZero();
        }

        @Test
        void memoryThatItHandsOutAgainIsHeldAndReturnedOnce() {
            allocate(0x1000, 100);
            device = failingWith(new LinkageError("failed"));
            free(0x1000);
            allocate(0x1000, 200);
            assertThat(ledger.stats().bytesInUse()).isEqualTo(200);
            assertThat(ledger.stats().bytesHeld()).isEqualTo(200);
            assertThat(ledger.stats().peakBytesHeld()).isEqualTo(200);
            assertThat(ledger.sizeOfLive(0x1000)).isEqualTo(200);
            device = TAKES_ALL_BACK;
            assertThat(ledger.returnAgain()).isZero();
            free(0x1000);
            assertThat(ledger.isEmpty()).isTrue();
        }

        @Test
        void unreturnedMemoryThatOverlapsALiveBlockWasTakenBack() {
            device = failingWith(new LinkageError("failed"));
            for (long address = 0x1000; address < 0x1400; address += 0x100) {
                allocate(address, 0x100);
                free(address);
            }
            assertThat(ledger.reserve(0x101, size -> 0x11FF)).isEqualTo(0x11FF);
            device = TAKES_ALL_BACK;
            returned.clear();
            assertThat(ledger.returnAgain()).isEqualTo(0x200);
            assertThat(returned).containsExactlyInAnyOrder(0x1000L, 0x1300L);
            assertThat(ledger.stats().bytesHeld()).isEqualTo(0x101);
        }

        @Test
        void unreturnedMemoryIsOfferedBeforeARequestFails() {
            allocate(0x1000, 100);
            device = failingWith(new LinkageError("failed"));
            free(0x1000);
            device = TAKES_ALL_BACK;
            assertThat(ledger.allocate(100, size -> ledger.unreturnedBytes() > 0 ? 0 : 0x1000))
                    .isEqualTo(0x1000);
            assertThat(ledger.stats().numFailedAllocs()).isZero();
        }

        @Test
        void closeOffersAllNamesWhatWasKeptAndCanBeRepeated() {
            allocate(0x1000, 100);
            allocate(0x2000, 200);
            allocate(0x3000, 300);
            device = failingWith(new LinkageError("failed"));
            free(0x1000);
            returned.clear();
            device = (address, byteSize) -> {
                if (address == 0x2000) {
                    throw new DeviceException("failed", null);
                }
            };
            assertThatThrownBy(ledger::returnAll)
                    .isInstanceOf(DeviceException.class)
                    .hasMessageContaining("has not taken back 200 bytes");
            assertThat(returned).containsExactlyInAnyOrder(0x1000L, 0x2000L, 0x3000L);
            assertThat(ledger.stats().bytesHeld()).isEqualTo(200);
            device = TAKES_ALL_BACK;
            ledger.returnAll();
            assertThat(ledger.isEmpty()).isTrue();
        }

        @Test
        void manyRefusalsCostLittleTimeAndNoMoreThanTheirEntries() {
            device = failingWith(new LinkageError("failed"));
            for (long address = 1; address <= 100_000; address++) {
                allocate(address << 8, 1);
                free(address << 8);
            }
            assertThat(ledger.unreturnedBytes()).isEqualTo(100_000);
            device = TAKES_ALL_BACK;
            assertThat(ledger.returnAgain()).isEqualTo(100_000);
            assertThat(ledger.isEmpty()).isTrue();
        }
    }

    @Nested
    class OtherThreads {
        @Test
        void memoryThatTheyGetBeforeItsFreeFailsIsTheirs() {
            allocate(0x1000, 100);
            device = (address, byteSize) -> {
                allocate(address, 200);
                throw new IllegalStateException("failed");
            };
            free(0x1000);
            assertThat(ledger.stats().bytesInUse()).isEqualTo(200);
            assertThat(ledger.stats().bytesHeld()).isEqualTo(200);
            assertThat(returned).containsExactly(0x1000L);
        }

        @Test
        void aBlockThatAnotherThreadFreesDuringTheCloseIsSkipped() {
            allocate(0x1000, 100);
            allocate(0x2000, 200);
            device = (address, byteSize) -> {
                device = TAKES_ALL_BACK;
                free(address == 0x1000 ? 0x2000 : 0x1000);
            };
            ledger.returnAll();
            assertThat(returned).containsExactlyInAnyOrder(0x1000L, 0x2000L);
            assertThat(ledger.isEmpty()).isTrue();
        }

        /** A device that throws may have taken the memory, and hands it out before the allocation is entered. */
        @Test
        void unreturnedMemoryIsNotOfferedDuringAnAllocation() {
            allocate(0x1000, 100);
            device = failingWith(new DeviceException("taken nevertheless", null));
            free(0x1000);
            device = failingWith(new AssertionError("another allocation's block is freed"));
            ledger.allocate(100, size -> {
                assertThat(ledger.returnAgain()).isZero();
                return 0x1000;
            });
            assertThat(ledger.stats().bytesHeld()).isEqualTo(100);
            assertThat(ledger.stats().bytesInUse()).isEqualTo(100);
        }

        @Test
        void anAllocationWaitsWhileUnreturnedMemoryIsOffered() throws Exception {
            allocate(0x1000, 100);
            device = failingWith(new DeviceException("failed", null));
            free(0x1000);
            final FutureTask<Long> other = new FutureTask<>(() -> ledger.allocate(50, size -> 0x1000));
            device = (address, byteSize) -> {
                final Thread thread = Thread.ofPlatform().daemon().start(other);
                while (thread.getState() != Thread.State.WAITING) {
                    assertThat(other.isDone()).isFalse();
                    Thread.onSpinWait();
                }
            };
            assertThat(ledger.returnAgain()).isEqualTo(100);
            assertThat(other.get()).isEqualTo(0x1000);
            assertThat(ledger.stats().bytesHeld()).isEqualTo(50);
        }
    }

    @Nested
    class WaitingBlocks {
        private boolean isReady;

        private final BlockLedger<String> waiting =
                new BlockLedger<>(MEMORY, (address, byteSize, owner) -> isReady || !"stream".equals(owner));

        @Test
        void goBackBesideAllocationsOnceTheirOwnerLetsThem() {
            waiting.begin();
            waiting.end(0x1000, 100, "stream", false);
            waiting.free(0x1000);
            assertThat(waiting.inspect().blocks())
                    .singleElement()
                    .satisfies(block -> assertThat(block.state()).isEqualTo(State.WAITING));
            assertThat(waiting.returnAgain()).isZero();
            waiting.begin();
            isReady = true;
            assertThat(waiting.returnAgain()).isEqualTo(100);
            waiting.end(0, 0, null, false);
            assertThat(waiting.isEmpty()).isTrue();
        }

        @Test
        void anAllocationThatIsRolledBackLeavesNothing() {
            waiting.begin();
            waiting.rollBack(0x1000, 100, null);
            assertThat(waiting.isEmpty()).isTrue();
            assertThat(waiting.stats().numAllocs()).isZero();
        }
    }
}
