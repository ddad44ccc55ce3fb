package allocator.arena.bump;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.AllocatorClosedException;
import allocator.spi.DeviceException;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeDevice;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BumpArenaTest {
    private final FakeDevice device = new FakeDevice();

    private BumpArena fixed(long byteSize) {
        return new BumpArena(device, BumpConfig.fixed(byteSize));
    }

    @Nested
    class Allocation {
        @Test
        void blocksAreAllocatedInOrderOfAddressWithPaddingForAlignment() {
            BumpArena arena = fixed(1000);
            long first = arena.allocate(10, 1);
            assertThat(arena.allocate(10, 1)).isEqualTo(first + 10);
            assertThat(arena.allocate(10, 64)).isEqualTo(first + 64);
            assertThat(arena.allocate(10, 8)).isEqualTo(first + 80);
            assertThat(arena.stats()).isEqualTo(new BumpStats(90, 40, 50, 90, 1000, 1, 0, 0));
        }

        @Test
        void aFirstRegionTakenAtOnceIsFreeUntilBlocksTakeIt() {
            BumpArena arena = fixed(1 << 20);
            assertThat(arena.stats().freeBytes()).isZero();
            arena.takeFirstRegion();
            arena.takeFirstRegion();
            assertThat(arena.stats()).isEqualTo(new BumpStats(0, 0, 0, 0, 1 << 20, 1, 0, 0));
            assertThat(arena.stats().freeBytes()).isEqualTo(1024 << 10);
            arena.allocate(256 << 10, 64);
            arena.allocate(128 << 10, 32);
            arena.allocate(512 << 10);
            assertThat(arena.stats().freeBytes()).isEqualTo(128 << 10);
            arena.reset();
            assertThat(arena.stats().freeBytes()).isEqualTo(1024 << 10);
            arena.allocate(100 << 10);
            assertThat(arena.stats().freeBytes()).isEqualTo(924 << 10);
            assertThat(device.requestedSizes()).containsExactly(1L << 20);
            arena.close();
            assertThatThrownBy(arena::takeFirstRegion).isInstanceOf(AllocatorClosedException.class);
            assertThat(device.liveBytes()).isZero();
        }

        @Test
        void aFirstRegionThatTheDeviceLacksLeavesTheArenaUsable() {
            BumpArena arena = fixed(1000);
            device.capacity(999);
            assertThatThrownBy(arena::takeFirstRegion).isInstanceOf(OutOfMemoryException.class);
            assertThat(arena.stats().bytesHeld()).isZero();
            device.capacity(1000);
            arena.allocate(1000, 1);
        }

        @Test
        void anArenaCanBeFilledToTheLastByte() {
            BumpArena arena = fixed(100);
            arena.allocate(60, 1);
            arena.allocate(40, 1);
            assertThatThrownBy(() -> arena.allocate(1, 1)).isInstanceOfSatisfying(OutOfMemoryException.class, e -> {
                assertThat(e.shortage().inUse()).isEqualTo(100);
                assertThat(e.shortage().largestFree()).isZero();
            });
        }

        @Test
        void aRequestThatDoesNotFitLeavesTheRestForSmallerOnes() {
            BumpArena arena = fixed(100);
            arena.allocate(60, 1);
            assertThatThrownBy(() -> arena.allocate(41, 1)).isInstanceOf(OutOfMemoryException.class);
            arena.allocate(40, 1);
        }

        @Test
        void aSizeOfZeroIsTheEmptyAllocation() {
            assertThat(fixed(100).allocate(0, 1)).isZero();
            assertThat(device.liveBytes()).isZero();
        }

        @ParameterizedTest
        @ValueSource(longs = {-1, Long.MIN_VALUE, Long.MAX_VALUE})
        void invalidSizesAreRejected(long byteSize) {
            assertThatThrownBy(() -> fixed(100).allocate(byteSize, 1)).isInstanceOf(InvalidSizeException.class);
        }

        @ParameterizedTest
        @ValueSource(longs = {0, -1, 3, 255, BumpArena.MAX_BYTE_ALIGNMENT * 2, Long.MIN_VALUE})
        void invalidAlignmentsAreRejected(long byteAlignment) {
            BumpArena arena = fixed(100);
            arena.allocate(1, 1);
            assertThatThrownBy(() -> arena.allocate(1, byteAlignment)).isInstanceOf(IllegalArgumentException.class);
        }

        @Test
        void theDefaultAlignmentIsThatOfTheMemory() {
            BumpArena arena = new BumpArena(device, BumpConfig.growing(4096));
            arena.allocate(1, 1);
            assertThat(arena.allocate(10) % arena.info().byteAlignment()).isZero();
            assertThat(arena.allocate(0)).isZero();
            assertThatThrownBy(() -> arena.allocate(-1)).isInstanceOf(InvalidSizeException.class);
        }

        @Test
        void aLargeAlignmentHoldsInANewRegionToo() {
            BumpArena arena = new BumpArena(device, BumpConfig.growing(100));
            assertThat(arena.allocate(10, 1 << 20) % (1 << 20)).isZero();
            assertThat(arena.allocate(100, 1 << 22) % (1 << 22)).isZero();
        }

        @Test
        void anotherThreadIsRejected() throws InterruptedException {
            BumpArena arena = fixed(100);
            AtomicReference<Throwable> failure = new AtomicReference<>();
            Thread thread = Thread.ofPlatform()
                    .uncaughtExceptionHandler((ignored, e) -> failure.set(e))
                    .start(() -> arena.allocate(1, 1));
            thread.join();
            assertThat(failure.get()).isInstanceOf(WrongThreadException.class);
        }
    }

    @Nested
    class ResetAndRollback {
        @Test
        void aResetReusesTheSameMemory() {
            BumpArena arena = fixed(100);
            long first = arena.allocate(70, 1);
            arena.reset();
            assertThat(arena.allocate(80, 1)).isEqualTo(first);
            assertThat(arena.stats()).isEqualTo(new BumpStats(80, 80, 0, 80, 100, 1, 0, 1));
            assertThat(device.requestedSizes()).containsExactly(100L);
        }

        @Test
        void aRollbackFreesBlocksSinceTheMarkAndCanBeRepeated() {
            BumpArena arena = fixed(100);
            arena.allocate(10, 1);
            BumpArena.Mark mark = arena.mark();
            long scratch = arena.allocate(20, 1);
            arena.rollback(mark);
            assertThat(arena.allocate(30, 1)).isEqualTo(scratch);
            arena.rollback(mark);
            assertThat(arena.stats()).isEqualTo(new BumpStats(10, 10, 0, 40, 100, 1, 0, 0));
        }

        @Test
        void aMarkDelimitsAScope() {
            BumpArena arena = fixed(100);
            arena.allocate(10, 1);
            try (BumpArena.Mark scope = arena.mark()) {
                arena.allocate(50, 1);
                arena.reset();
                arena.allocate(5, 1);
                assertThat(scope).isNotNull();
            }
            assertThat(arena.stats().bytesInUse()).isEqualTo(5);
        }

        @Test
        void aStaleMarkIsRejected() {
            BumpArena arena = fixed(100);
            BumpArena.Mark outer = arena.mark();
            arena.allocate(10, 1);
            BumpArena.Mark inner = arena.mark();
            arena.rollback(outer);
            arena.allocate(50, 1);
            assertThatThrownBy(() -> arena.rollback(inner)).isInstanceOf(StaleAddressException.class);
            arena.reset();
            assertThatThrownBy(() -> arena.rollback(outer)).isInstanceOf(StaleAddressException.class);
            assertThatThrownBy(() -> arena.rollback(fixed(1).mark())).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Nested
    class Generation {
        @Test
        void anAddressFromBeforeAResetIsStaleEvenIfItWasAllocatedAgain() {
            BumpArena arena = fixed(100);
            long old = arena.allocate(10, 1);
            long oldGeneration = arena.generation();
            arena.requireLive(old, oldGeneration);
            arena.reset();
            assertThatThrownBy(() -> arena.requireLive(old, oldGeneration)).isInstanceOf(StaleAddressException.class);
            long young = arena.allocate(10, 1);
            assertThat(young).isEqualTo(old);
            assertThatThrownBy(() -> arena.requireLive(old, oldGeneration)).isInstanceOf(StaleAddressException.class);
            arena.requireLive(young, arena.generation());
        }

        @Test
        void blocksBelowAMarkSurviveTheRollback() {
            BumpArena arena = fixed(100);
            long below = arena.allocate(10, 1);
            long generation = arena.generation();
            BumpArena.Mark mark = arena.mark();
            long freed = arena.allocate(10, 1);
            arena.rollback(mark);
            arena.allocate(10, 1);
            assertThat(arena.isLive(below, generation)).isTrue();
            assertThat(arena.isLive(freed, generation)).isFalse();
            assertThat(arena.isLive(freed, arena.generation())).isTrue();
            assertThat(arena.isLive(below + 50, arena.generation())).isFalse();
        }
    }

    @Nested
    class Regions {
        @Test
        void growthAddsRegionsAndAResetReusesThemInOrder() {
            BumpArena arena = new BumpArena(device, new BumpConfig(100, 50, 0));
            arena.allocate(90, 1);
            arena.allocate(20, 1);
            arena.allocate(200, 1);
            assertThat(device.requestedSizes()).containsExactly(100L, 50L, 200L);
            assertThat(arena.stats()).isEqualTo(new BumpStats(350, 310, 40, 350, 350, 3, 0, 0));
            arena.reset();
            arena.allocate(90, 1);
            arena.allocate(150, 1);
            assertThat(device.requestedSizes()).hasSize(3);
            assertThat(arena.stats().paddingBytes()).isEqualTo(60);
            arena.close();
            assertThat(device.liveBytes()).isZero();
        }

        @Test
        void theLimitCoversAllRegions() {
            BumpArena arena = new BumpArena(device, new BumpConfig(100, 100, 150));
            arena.allocate(100, 1);
            arena.allocate(10, 1);
            assertThat(arena.stats().bytesHeld()).isEqualTo(150);
            assertThatThrownBy(() -> arena.allocate(41, 1))
                    .isInstanceOfSatisfying(
                            OutOfMemoryException.class,
                            e -> assertThat(e.shortage().limit()).isEqualTo(150));
            arena.allocate(40, 1);
        }

        @Test
        void aShrinkReturnsUnusedRegionsAndMarksStayValid() {
            BumpArena arena = new BumpArena(device, BumpConfig.growing(100));
            BumpArena.Mark start = arena.mark();
            arena.allocate(100, 1);
            BumpArena.Mark endOfFirst = arena.mark();
            arena.allocate(100, 1);
            arena.rollback(endOfFirst);
            assertThat(arena.shrink()).isEqualTo(100);
            arena.rollback(endOfFirst);
            assertThat(arena.stats().bytesInUse()).isEqualTo(100);
            arena.rollback(start);
            assertThat(arena.shrink()).isEqualTo(100);
            assertThat(device.liveBytes()).isZero();
            arena.rollback(start);
            arena.allocate(10, 1);
            arena.rollback(start);
            assertThat(arena.stats().bytesInUse()).isZero();
        }

        @Test
        void aFailureOfTheUpstreamAllocatorLeavesTheArenaUsable() {
            device.failAllocs(call -> call == 1);
            BumpArena arena = new BumpArena(device, BumpConfig.growing(100));
            arena.allocate(60, 1);
            assertThatThrownBy(() -> arena.allocate(60, 1)).isInstanceOf(DeviceException.class);
            arena.allocate(40, 1);
            arena.allocate(60, 1);
            device.capacity(0);
            assertThatThrownBy(() -> arena.allocate(60, 1))
                    .isInstanceOf(OutOfMemoryException.class)
                    .hasCauseInstanceOf(OutOfMemoryException.class);
            arena.allocate(40, 1);
        }

        @Test
        void aCloseLeavesToTheUpstreamAllocatorWhatItsDeviceRefuses() {
            BumpArena arena = fixed(100);
            arena.allocate(1, 1);
            device.failFrees(call -> call == 0);
            arena.close();
            arena.close();
            assertThat(device.freeCalls()).isOne();
            assertThatThrownBy(() -> arena.allocate(1, 1)).isInstanceOf(AllocatorClosedException.class);
            assertThatThrownBy(arena::reset).isInstanceOf(AllocatorClosedException.class);
            assertThatThrownBy(arena::mark).isInstanceOf(AllocatorClosedException.class);
        }
    }

    @Nested
    class Fallback {
        @Test
        void servesRequestsThatTheRegionsCannotAndGetsItsBlocksBack() {
            FakeDevice other = new FakeDevice();
            other.free(other.alloc(1 << 20)); // so that its addresses are not those of the first device
            BumpArena arena = new BumpArena(device, BumpConfig.fixed(100), other);
            arena.allocate(80, 1);
            BumpArena.Mark mark = arena.mark();
            long fromOther = arena.allocate(500, 1);
            long generation = arena.generation();
            assertThat(arena.isLive(fromOther, generation)).isTrue();
            assertThat(arena.stats().fallbackBytes()).isEqualTo(500);
            arena.allocate(20, 1);
            arena.rollback(mark);
            assertThat(other.liveBytes()).isZero();
            assertThat(arena.isLive(fromOther, generation)).isFalse();
            arena.allocate(300, 1);
            arena.reset();
            assertThat(other.liveBytes()).isZero();
            assertThatThrownBy(() -> arena.allocate(101, 512)).isInstanceOf(OutOfMemoryException.class);
            arena.allocate(600, 1);
            arena.close();
            assertThat(other.liveBytes()).isZero();
            assertThat(device.liveBytes()).isZero();
        }
    }

    private record Block(long address, long byteSize, long generation) {}

    /** Random programs against a list of live blocks, which is truncated where a mark truncates the arena. */
    @Property(tries = 500)
    void liveBlocksAreDisjointAndFreedOnesAreReportedStale(
            @ForAll @Size(max = 120) List<@IntRange(max = 99999) Integer> steps) {
        BumpArena arena = new BumpArena(new FakeDevice(), new BumpConfig(512, 256, 0));
        List<Block> live = new ArrayList<>();
        List<Block> freed = new ArrayList<>();
        List<BumpArena.Mark> marks = new ArrayList<>();
        List<Integer> markedCounts = new ArrayList<>();
        for (int step : steps) {
            switch (step % 8) {
                case 0 -> {
                    marks.add(arena.mark());
                    markedCounts.add(live.size());
                }
                case 1 -> {
                    if (!marks.isEmpty()) {
                        int which = step / 8 % marks.size();
                        arena.rollback(marks.get(which));
                        moveFreed(live, freed, markedCounts.get(which));
                        marks.subList(which + 1, marks.size()).clear();
                        markedCounts.subList(which + 1, markedCounts.size()).clear();
                    }
                }
                case 2 -> {
                    if (step % 3 == 0) {
                        arena.reset();
                        moveFreed(live, freed, 0);
                        marks.clear();
                        markedCounts.clear();
                    } else {
                        arena.shrink();
                    }
                }
                default -> {
                    long byteSize = 1L + step / 8 % 300;
                    long address = arena.allocate(byteSize, 1L << step % 9);
                    assertThat(address % (1L << step % 9)).isZero();
                    for (Block other : live) {
                        assertThat(address + byteSize <= other.address || other.address + other.byteSize <= address)
                                .isTrue();
                    }
                    live.add(new Block(address, byteSize, arena.generation()));
                }
            }
            assertThat(live).allMatch(block -> arena.isLive(block.address, block.generation));
            assertThat(live).allMatch(block -> arena.isLive(block.address + block.byteSize - 1, block.generation));
            assertThat(freed).noneMatch(block -> arena.isLive(block.address, block.generation));
            assertThat(arena.stats().requestedBytes())
                    .isEqualTo(live.stream().mapToLong(Block::byteSize).sum());
        }
    }

    private static void moveFreed(List<Block> live, List<Block> freed, int keep) {
        List<Block> ended = live.subList(keep, live.size());
        freed.addAll(ended);
        ended.clear();
    }
}
