package allocator.arena.bump;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import allocator.arena.ArenaOptions;
import allocator.provider.support.internal.Failures;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.Region;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.AllocatorStats;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

// One class, since its groups share the failing upstream allocator and the model of blocks.
class BumpAllocatorTest {
    private final FakeDevice device = new FakeDevice();
    private final FakeStream one = new FakeStream();
    private final FakeStream two = new FakeStream();

    private BumpAllocator allocator(String... keysAndValues) {
        AllocatorOptions options = AllocatorOptions.of(
                Map.of("arena.initial_chunk_size_bytes", "4096", "arena.initial_growth_chunk_size_bytes", "8192"),
                "test");
        for (int i = 0; i < keysAndValues.length; i += 2) {
            options = options.with(keysAndValues[i], keysAndValues[i + 1], "test");
        }
        return new BumpAllocator(
                device, BumpConfig.from(options), options.get(ArenaOptions.MAX_MEM), options.resolve(BumpOptions.KEYS));
    }

    @Nested
    class Inspection {
        @Test
        void anAllocatorWithoutMemoryListsNothing() {
            assertThat(allocator().inspect()).isEqualTo(AllocatorSnapshot.EMPTY);
        }

        @Test
        void aFreedBlockIsPinnedUntilTheLastOneOfItsRegionIsFreed() {
            BumpAllocator allocator = allocator();
            long first = allocator.alloc(10);
            long second = allocator.alloc(300);
            long third = allocator.alloc(200);
            long fourth = allocator.alloc(100);
            allocator.free(first);
            allocator.free(second);
            allocator.free(fourth);
            assertThat(allocator.inspect().regions())
                    .containsExactly(new Region(
                            0,
                            first,
                            4096,
                            List.of(
                                    new Chunk(first, 768, 0, State.PINNED, 0),
                                    new Chunk(third, 256, 200, State.LIVE, 0),
                                    new Chunk(fourth, 100, 0, State.PINNED, 0),
                                    new Chunk(fourth + 100, 4096 - 1124, 0, State.FREE, 0))));
            allocator.free(third);
            assertThat(allocator.inspect().regions().getFirst().chunks())
                    .containsExactly(new Chunk(first, 4096, 0, State.FREE, 0));
        }

        @Test
        void theRegionOfAStreamWaitsForItAndReservesAreOutside() {
            BumpAllocator allocator = allocator();
            long reserve = allocator.reserve(777);
            long block = allocator.allocOnStream(10, one);
            assertThat(allocator.inspect().regions().getFirst().chunks())
                    .containsExactly(
                            new Chunk(block, 10, 10, State.LIVE, one.id()),
                            new Chunk(block + 10, 4086, 0, State.WAITING, one.id()));
            assertThat(allocator.inspect().blocks()).containsExactly(new Chunk(reserve, 777, 777, State.LIVE, 0));
            allocator.free(block);
            allocator.endRun(one);
            assertThat(allocator.inspect().regions().getFirst().chunks())
                    .containsExactly(new Chunk(block, 4096, 0, State.FREE, 0));
        }

        /** Over random programs: the chunks tile their regions, and add up to what is held. */
        @Test
        void theSumsAreThoseOfTheStatistics() {
            BumpAllocator allocator = allocator();
            Random random = new Random(5);
            List<Long> live = new ArrayList<>();
            for (int i = 0; i < 2000; i++) {
                long byteSize = 1L + random.nextInt(1 << (4 + random.nextInt(10)));
                live.add(
                        random.nextInt(3) == 0
                                ? allocator.allocOnStream(byteSize, random.nextBoolean() ? one : two)
                                : allocator.alloc(byteSize));
                while (live.size() > 40) {
                    allocator.free(live.remove(random.nextInt(live.size())));
                }
                if (i % 100 == 0) {
                    AllocatorSnapshot memory = allocator.inspect();
                    long held = 0;
                    long requested = 0;
                    for (Region region : memory.regions()) {
                        long next = region.address();
                        for (Chunk chunk : region.chunks()) {
                            assertThat(chunk.address()).isEqualTo(next);
                            next += chunk.byteSize();
                            requested += chunk.requestedBytes();
                        }
                        assertThat(next).isEqualTo(region.address() + region.byteSize());
                        held += region.byteSize();
                    }
                    assertThat(held).isEqualTo(allocator.stats().bytesHeld());
                    assertThat(requested).isEqualTo(allocator.stats().bytesInUse());
                }
            }
        }
    }

    @Nested
    class Placement {
        @Test
        void blocksAreAllocatedInOrderOfAddress() {
            BumpAllocator allocator = allocator();
            long first = allocator.alloc(10);
            assertThat(allocator.alloc(300)).isEqualTo(first + 256);
            assertThat(allocator.alloc(1)).isEqualTo(first + 768);
            assertThat(allocator.stats())
                    .isEqualTo(new AllocatorStats(
                            -1, 311, 311, 4096, 3785, 3072, 311, 4096, 300, 3, 0, 0, 1, 0, List.of()));
        }

        @Test
        void aRegionIsReusedWhenItsLastBlockIsFreed() {
            BumpAllocator allocator = allocator();
            long first = allocator.alloc(1000);
            long second = allocator.alloc(1000);
            allocator.free(first);
            long third = allocator.alloc(1000);
            assertThat(third).isEqualTo(second + 1024);
            allocator.free(second);
            allocator.free(third);
            assertThat(allocator.alloc(1000)).isEqualTo(first);
        }

        @Test
        void runsThatFreeEverythingReuseTheSameMemory() {
            BumpAllocator allocator = allocator();
            List<Long> firstRun = new ArrayList<>();
            for (int run = 0; run < 5; run++) {
                List<Long> live = new ArrayList<>();
                for (int i = 1; i <= 30; i++) {
                    live.add(allocator.allocOnStream(i * 100L, one));
                }
                live.forEach(allocator::free);
                allocator.endRun(one);
                if (run == 0) {
                    firstRun.addAll(live);
                }
                assertThat(live).containsExactlyInAnyOrderElementsOf(firstRun);
            }
        }
    }

    @Nested
    class Growth {
        @Test
        void aGrownChainStillServesSmallRequestsFromEarlierRegions() {
            BumpAllocator allocator = allocator();
            long first = allocator.alloc(3072);
            allocator.alloc(5000);
            assertThat(device.liveBytes()).isEqualTo(4096 + 8192);
            allocator.alloc(20_000);
            assertThat(device.liveBytes()).isEqualTo(4096 + 8192 + 20_000);
            allocator.alloc(3072);
            assertThat(allocator.alloc(1024)).isEqualTo(first + 3072);
            assertThat(device.liveBytes()).isEqualTo(4096 + 8192 + 20_000);
        }

        @Test
        void aRequestBeyondTheChainsLimitGetsMemoryOfItsOwn() {
            BumpAllocator allocator = allocator("arena.bump_max_mem", "6000", "arena.max_mem", "20000");
            allocator.alloc(4000);
            allocator.alloc(1900);
            assertThat(device.liveBytes()).isEqualTo(6000);
            long beside = allocator.alloc(5001);
            assertThat(device.liveBytes()).isEqualTo(11_001);
            assertThat(allocator.stats().bytesHeld()).isEqualTo(11_001);
            assertThatThrownBy(() -> allocator.alloc(9000)).isInstanceOfSatisfying(OutOfMemoryException.class, e -> {
                assertThat(e.shortage().limit()).isEqualTo(20_000);
                assertThat(e.shortage().held()).isEqualTo(11_001);
            });
            allocator.free(beside);
            assertThat(device.liveBytes()).isEqualTo(6000);
            assertThat(allocator.stats().numFailedAllocs()).isEqualTo(1);
            allocator.free(allocator.alloc(14_000));
        }

        @Test
        void aReserveIsServedFromMemoryThatTheDeviceHadRefused() {
            BumpAllocator allocator = allocator("arena.max_mem", "20000");
            long first = allocator.reserve(20_000);
            device.failFrees(call -> call == 0);
            allocator.free(first);
            assertThat(allocator.stats().bytesHeld()).isEqualTo(20_000);
            allocator.free(allocator.reserve(20_000));
            assertThat(device.liveBytes()).isZero();
        }

        @Test
        void aRequestGetsMemoryOfItsOwnIfTheDeviceHasNoRegion() {
            device.capacity(5000);
            BumpAllocator allocator = allocator();
            allocator.alloc(4096);
            long last = allocator.alloc(904);
            assertThat(device.liveBytes()).isEqualTo(5000);
            assertThatThrownBy(() -> allocator.alloc(1)).isInstanceOf(OutOfMemoryException.class);
            allocator.free(last);
            assertThat(device.liveBytes()).isEqualTo(4096);
        }

        @Test
        void emptyRegionsAreGivenBackBeforeARequestFails() {
            BumpAllocator allocator = allocator("arena.max_mem", "10000");
            allocator.free(allocator.alloc(100));
            long all = allocator.alloc(10_000);
            assertThat(device.liveBytes()).isEqualTo(10_000);
            allocator.free(all);
            allocator.free(allocator.reserve(10_000));
            assertThat(device.liveBytes()).isZero();
        }
    }

    @Nested
    class Streams {
        @Test
        void memoryStaysWithItsStreamUntilItsRunEndsOrAnotherStreamHasWaited() {
            BumpAllocator allocator = allocator("arena.initial_growth_chunk_size_bytes", "4096");
            long ofOne = allocator.allocOnStream(4096, one);
            allocator.free(ofOne);
            long ofTwo = allocator.allocOnStream(4096, two);
            long unbound = allocator.alloc(4096);
            assertThat(List.of(ofTwo, unbound)).doesNotContain(ofOne);
            assertThat(allocator.allocOnStream(4096, one)).isEqualTo(ofOne);
            allocator.free(ofOne);
            allocator.endRun(one);
            assertThat(allocator.allocOnStream(4096, two)).isEqualTo(ofOne);
            allocator.free(ofTwo);
            two.notifyAndWait(one);
            assertThat(allocator.allocOnStream(4096, one)).isEqualTo(ofTwo);
        }

        @Test
        void aWaitBeforeTheFreeDoesNotCount() {
            BumpAllocator allocator = allocator();
            long ofOne = allocator.allocOnStream(4096, one);
            one.notifyAndWait(two);
            allocator.free(ofOne);
            assertThat(allocator.allocOnStream(4096, two)).isNotEqualTo(ofOne);
        }

        @Test
        void aRegionThatAStreamTookServesNoOtherLane() {
            BumpAllocator allocator = allocator();
            long first = allocator.alloc(100);
            allocator.free(first);
            assertThat(allocator.allocOnStream(100, one)).isEqualTo(first);
            assertThat(Math.abs(allocator.alloc(100) - first)).isGreaterThanOrEqualTo(4096);
        }

        @Test
        void aStreamOfAnotherDeviceIsRejected() {
            MemoryInfo other = new MemoryInfo(
                    "Other", new MemoryLocation(DeviceType.GPU, 0, 1, MemoryType.DEFAULT), 256, AllocatorType.DEVICE);
            BumpAllocator allocator = allocator();
            try (FakeStream stream = new FakeStream(other)) {
                assertThatThrownBy(() -> allocator.allocOnStream(1, stream))
                        .isInstanceOf(IllegalArgumentException.class);
            }
        }

        @Test
        void memoryOfAClosedStreamIsIdleOnceItIsFreed() {
            BumpAllocator allocator = allocator();
            long live = allocator.allocOnStream(1000, one);
            allocator.releaseStream(one);
            allocator.free(live);
            assertThat(allocator.allocOnStream(4096, two)).isEqualTo(live);
        }

        @Test
        void memoryForOneRequestOfAStreamGoesBackWhenItsRunEnds() {
            BumpAllocator allocator = allocator("arena.bump_max_mem", "1");
            allocator.free(allocator.allocOnStream(1000, one));
            assertThat(device.liveBytes()).isEqualTo(1000);
            allocator.endRun(one);
            assertThat(device.liveBytes()).isZero();
            long live = allocator.allocOnStream(1000, one);
            allocator.releaseStream(one);
            allocator.free(live);
            assertThat(device.liveBytes()).isZero();
        }
    }

    @Nested
    class MemoryForOneRequest {
        /** The stream's first block of the region is freed while others lie in it. */
        @Test
        void staysWhileABlockIsLive() {
            BumpAllocator allocator = allocator("arena.bump_max_mem", "1");
            allocator.free(allocator.allocOnStream(1000, one));
            long first = allocator.allocOnStream(300, one);
            long second = allocator.allocOnStream(300, one);
            assertThat(device.liveBlocks()).isEqualTo(1);
            allocator.releaseStream(one);
            allocator.free(first);
            assertThat(device.liveBytes()).isEqualTo(1000);
            allocator.free(second);
            assertThat(device.liveBytes()).isZero();
        }
    }

    @Nested
    class Shrinks {
        @Test
        void aShrinkGivesBackIdleRegions() {
            BumpAllocator allocator = allocator();
            long live = allocator.alloc(4000);
            allocator.free(allocator.alloc(8000));
            assertThat(allocator.shrink())
                    .isEqualTo(new ShrinkReport(
                            8192, 1, 4096, 1, 0, List.of(new ShrinkReport.Held(4096, 1, "regions with live blocks"))));
            allocator.free(live);
            assertThat(allocator.shrink()).isEqualTo(new ShrinkReport(4096, 1, 0, 0, 0));
        }

        @Test
        void aShrinkLeavesRegionsThatAStreamMayStillUse() {
            BumpAllocator allocator = allocator();
            allocator.free(allocator.allocOnStream(4096, one));
            assertThat(allocator.shrink())
                    .isEqualTo(new ShrinkReport(
                            0,
                            0,
                            4096,
                            0,
                            1,
                            List.of(new ShrinkReport.Held(
                                    4096, 1, "regions that a stream may still use until its run ends"))));
            allocator.endRun(one);
            assertThat(allocator.shrink()).isEqualTo(new ShrinkReport(4096, 1, 0, 0, 0));
            assertThat(allocator.stats().numArenaShrinkages()).isEqualTo(1);
            allocator.alloc(1);
        }
    }

    @Nested
    class Requests {
        @Test
        void invalidFreesAreDiagnosedAndChangeNothing() {
            BumpAllocator allocator = allocator();
            long first = allocator.alloc(100);
            long second = allocator.alloc(100);
            long reserved = allocator.reserve(100);
            AllocatorStats before = allocator.stats();
            assertThatThrownBy(() -> allocator.free(first + 1)).isInstanceOf(InteriorAddressException.class);
            assertThatThrownBy(() -> allocator.free(first + 100)).isInstanceOf(ForeignAddressException.class);
            assertThatThrownBy(() -> allocator.free(second + 256)).isInstanceOf(ForeignAddressException.class);
            assertThatThrownBy(() -> allocator.free(reserved + 99)).isInstanceOf(InteriorAddressException.class);
            assertThatThrownBy(() -> allocator.free(1)).isInstanceOf(ForeignAddressException.class);
            assertThat(allocator.stats()).isEqualTo(before);
            allocator.free(first);
            assertThatThrownBy(() -> allocator.free(first)).isInstanceOf(DoubleFreeException.class);
            allocator.free(second);
            assertThatThrownBy(() -> allocator.free(second)).isInstanceOf(ForeignAddressException.class);
            allocator.free(reserved);
            assertThat(allocator.stats().bytesInUse()).isZero();
        }

        @Test
        void aReserveLiesOutsideTheRegions() {
            BumpAllocator allocator = allocator();
            long reserved = allocator.reserve(1000);
            assertThat(allocator.stats().bytesHeld()).isEqualTo(1000);
            assertThat(allocator.stats().numArenaExtensions()).isZero();
            allocator.free(reserved);
            assertThat(device.liveBytes()).isZero();
        }

        @Test
        void invalidSizesAreRejected() {
            BumpAllocator allocator = allocator();
            assertThat(allocator.alloc(0)).isZero();
            assertThat(allocator.reserve(0)).isZero();
            allocator.free(0);
            for (long byteSize : new long[] {-1, Long.MIN_VALUE, Long.MAX_VALUE, Long.MAX_VALUE - 254}) {
                assertThatThrownBy(() -> allocator.alloc(byteSize)).isInstanceOf(InvalidSizeException.class);
                assertThatThrownBy(() -> allocator.reserve(byteSize)).isInstanceOf(InvalidSizeException.class);
            }
            assertThatThrownBy(() -> new BumpAllocator(device, BumpConfig.fixed(1), -1, AllocatorOptions.EMPTY))
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }

    /** What an upstream allocator throws from a free, allowed or not. */
    @Nested
    class FailingFrees {
        private final List<Throwable> unknown = List.of(
                new IllegalStateException("simulated"),
                new AssertionError("simulated"),
                new OutOfMemoryError("simulated"),
                new StackOverflowError("simulated"));

        /** A device whose next free fails and does nothing, or frees the block. */
        private static final class Failing extends FakeDevice {
            private @Nullable Throwable next;

            @Override
            public synchronized void free(long address) {
                final Failures failures = new Failures();
                failures.add(next);
                next = null;
                try {
                    failures.throwIfAny();
                } catch (DeviceException e) {
                    super.free(address);
                    throw e;
                }
                super.free(address);
            }
        }

        private BumpAllocator over(Failing failing, long sharedBytes) {
            return new BumpAllocator(failing, new BumpConfig(sharedBytes, 0, sharedBytes), 0, AllocatorOptions.EMPTY);
        }

        @Test
        void takeEffectAndCountAsReturned() {
            Failing failing = new Failing();
            BumpAllocator allocator = over(failing, 1);
            long block = allocator.alloc(1000);
            long reserved = allocator.reserve(500);
            failing.next = new DeviceException("simulated", null);
            allocator.free(block);
            failing.next = new DeviceException("simulated", null);
            allocator.free(reserved);
            assertThat(allocator.stats().bytesInUse()).isZero();
            assertThat(allocator.stats().bytesHeld()).isZero().isEqualTo(failing.liveBytes());
            allocator.close();
        }

        @Test
        void leaveMemoryHeldAndUnusedUntilTheCloseIfTheyBreakTheContract() {
            unknown.forEach(failure -> {
                Failing failing = new Failing();
                BumpAllocator allocator = over(failing, 1);
                long block = allocator.alloc(1000);
                long reserved = allocator.reserve(500);
                failing.next = failure;
                allocator.free(block);
                failing.next = failure;
                allocator.free(reserved);
                assertThat(allocator.stats().bytesInUse()).isZero();
                assertThat(allocator.stats().bytesHeld()).isEqualTo(1500).isEqualTo(failing.liveBytes());
                assertThat(allocator.inspect().blocks())
                        .containsExactly(
                                new Chunk(block, 1000, 0, State.UNRETURNED, 0),
                                new Chunk(reserved, 500, 0, State.UNRETURNED, 0));
                assertThat(allocator.alloc(1000)).isNotEqualTo(block);
                allocator.close();
                assertThat(failing.liveBytes()).isZero();
            });
        }

        @Test
        void doNotEndAClose() {
            unknown.forEach(failure -> {
                Failing failing = new Failing();
                BumpAllocator allocator = over(failing, 4096);
                allocator.alloc(4096);
                allocator.alloc(100);
                allocator.reserve(10);
                failing.next = failure;
                assertThatThrownBy(allocator::close)
                        .isInstanceOf(DeviceException.class)
                        .hasMessageContaining("failed to take back 10 bytes");
                assertThat(failing.liveBlocks()).isEqualTo(1);
                allocator.close();
                assertThat(failing.liveBlocks()).isZero();
            });
        }

        /** The device fails to take back the idle region for which the request has no memory. */
        @Test
        void doNotFailAnAllocation() {
            Failing failing = new Failing();
            failing.capacity(4096);
            BumpAllocator allocator = over(failing, 100);
            allocator.free(allocator.alloc(100));
            failing.next = new AssertionError("simulated");
            assertThatThrownBy(() -> allocator.alloc(4096)).isInstanceOf(OutOfMemoryException.class);
            assertThat(allocator.stats().bytesHeld()).isEqualTo(100).isEqualTo(failing.liveBytes());
            assertThat(allocator.alloc(3996)).isNotZero();
        }
    }

    @Nested
    class Close {
        @Test
        void returnsAllMemoryAndRejectsFurtherUse() {
            BumpAllocator allocator = allocator();
            allocator.alloc(100);
            allocator.reserve(100);
            allocator.allocOnStream(100_000, one);
            allocator.close();
            allocator.close();
            assertThat(device.liveBytes()).isZero();
            assertThatThrownBy(() -> allocator.alloc(1)).isInstanceOf(AllocatorClosedException.class);
            assertThatThrownBy(() -> allocator.free(0)).isInstanceOf(AllocatorClosedException.class);
            assertThatThrownBy(allocator::stats).isInstanceOf(AllocatorClosedException.class);
            assertThatThrownBy(allocator::shrink).isInstanceOf(AllocatorClosedException.class);
        }

        /** Queued work may use blocks, and work may wait for a thread that calls the allocator. */
        @Test
        void waitsForStreamsBeforeItReturnsMemory() {
            BumpAllocator allocator = allocator();
            List<Long> liveAtFlush = new ArrayList<>();
            FakeStream stream = new FakeStream().before(operation -> {
                if (operation.equals("flush")) {
                    liveAtFlush.add(device.liveBytes());
                    CompletableFuture<Throwable> other = CompletableFuture.supplyAsync(
                            () -> catchThrowable(() -> allocator.alloc(1)), Thread::startVirtualThread);
                    assertThat(other.orTimeout(10, TimeUnit.SECONDS).join())
                            .isInstanceOf(AllocatorClosedException.class);
                    assertThatThrownBy(allocator::close).isExactlyInstanceOf(IllegalStateException.class);
                }
            });
            allocator.allocOnStream(100, stream);
            long held = device.liveBytes();
            allocator.close();
            assertThat(liveAtFlush).containsExactly(held);
            assertThat(device.liveBytes()).isZero();
        }

        @Test
        void returnsAllMemoryIfAWaitFails() {
            BumpAllocator allocator = allocator();
            allocator.allocOnStream(100, one);
            DeviceException failure = new DeviceException("the work failed", null);
            allocator.allocOnStream(100, new FakeStream().before(operation -> {
                        throw failure;
                    }));
            assertThatThrownBy(allocator::close).isSameAs(failure);
            assertThat(device.liveBytes()).isZero();
        }
    }

    /** Random programs: live blocks never overlap, and the counters agree with a plain list. */
    @Property(tries = 200)
    void noProgramGetsOverlappingBlocks(@ForAll @Size(max = 200) List<@IntRange(max = 99_999) Integer> steps) {
        BumpAllocator allocator = allocator("arena.bump_max_mem", "30000", "arena.max_mem", "60000");
        List<long[]> live = new ArrayList<>();
        for (int step : steps) {
            switch (step % 8) {
                case 0 -> allocator.endRun(one);
                case 1 -> allocator.shrink();
                case 2, 3 -> {
                    if (!live.isEmpty()) {
                        allocator.free(live.remove(step / 8 % live.size())[0]);
                    }
                }
                default -> allocate(allocator, step, live);
            }
            AllocatorStats stats = allocator.stats();
            assertThat(stats.bytesInUse())
                    .isEqualTo(live.stream().mapToLong(block -> block[1]).sum());
            assertThat(stats.bytesHeld()).isEqualTo(device.liveBytes()).isLessThanOrEqualTo(60_000);
            assertThat(stats.bytesInUse() + stats.freeBytes()).isEqualTo(stats.bytesHeld());
        }
        live.forEach(block -> allocator.free(block[0]));
        allocator.close();
        assertThat(device.liveBytes()).isZero();
    }

    private void allocate(BumpAllocator allocator, int step, List<long[]> live) {
        long byteSize = 1L + step / 8;
        long address;
        try {
            address = step % 8 < 6 ? allocator.alloc(byteSize) : allocator.allocOnStream(byteSize, one);
        } catch (OutOfMemoryException e) {
            assertThat(byteSize).isGreaterThan(60_000 - e.shortage().held());
            return;
        }
        assertThat(live)
                .allSatisfy(block -> assertThat(address + byteSize <= block[0] || block[0] + block[1] <= address)
                        .isTrue());
        live.add(new long[] {address, byteSize});
    }
}
