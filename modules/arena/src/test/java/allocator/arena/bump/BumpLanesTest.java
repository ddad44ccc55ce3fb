package allocator.arena.bump;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.provider.support.Failures;
import allocator.provider.support.Limit;
import allocator.spi.AllocatorOptions;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class BumpLanesTest {
    private static final int MANY = 2_000;
    private static final long REGION = 4096;

    private final FakeDevice device = new FakeDevice();
    private final UpstreamMemory memory = new UpstreamMemory(device, Limit.NONE);
    private final BumpLanes lanes = new BumpLanes(memory, BumpConfig.growing(REGION));
    private final BumpCounters counters = new BumpCounters();

    /** Allocates a block in a region of its own. */
    private long alloc(FakeStream stream) {
        return lanes.allocate(REGION, lanes.laneOf(stream), counters);
    }

    private void free(long address) {
        final BlockRegion region = lanes.find(address);
        assertThat(region).isNotNull();
        lanes.free(region, address, counters);
    }

    /** Random programs get the blocks that a naive choice among all regions gives them. */
    @Property(tries = 300)
    void choosesAsANaiveSearch(@ForAll long seed, @ForAll @IntRange(min = 1, max = 24) int streams) {
        new Program(new Random(seed), streams).run();
    }

    private static final class Program {
        private static final long MAX_MEM = 150_000;
        private static final int STEPS = 400;

        private final Random random;
        private final List<FakeStream> streams = new ArrayList<>();
        private final List<Long> live = new ArrayList<>();
        private final FakeDevice device = new FakeDevice();
        private final FakeDevice naiveDevice = new FakeDevice();
        private final BumpAllocator allocator;
        private final NaiveBump naive;

        Program(Random random, int count) {
            this.random = random;
            for (int i = 0; i < count; i++) {
                streams.add(new FakeStream());
            }
            final BumpConfig config = new BumpConfig(4096, random.nextBoolean() ? 0 : 8192, 60_000);
            allocator = new BumpAllocator(device, config, MAX_MEM, AllocatorOptions.EMPTY);
            naive = new NaiveBump(naiveDevice, config, MAX_MEM);
        }

        private FakeStream stream() {
            return streams.get(random.nextInt(streams.size()));
        }

        void run() {
            for (int step = 0; step < STEPS; step++) {
                step();
                assertThat(device.liveBytes()).isEqualTo(naiveDevice.liveBytes());
            }
            assertThat(device.requestedSizes()).isEqualTo(naiveDevice.requestedSizes());
            live.forEach(allocator::free);
            allocator.close();
            assertThat(device.liveBytes()).isZero();
        }

        private void step() {
            final int choice = random.nextInt(32);
            if (choice < 14) {
                alloc();
            } else if (choice < 26) {
                free();
            } else if (choice < 28) {
                stream().notifyAndWait(stream());
            } else if (choice < 30) {
                final FakeStream stream = stream();
                allocator.endRun(stream);
                naive.endRun(stream);
            } else if (choice < 31) {
                final FakeStream stream = stream();
                allocator.releaseStream(stream);
                naive.releaseStream(stream);
                stream.close();
                streams.set(streams.indexOf(stream), new FakeStream());
            } else if (random.nextInt(8) == 0) {
                assertThat(allocator.shrink().regionsReleased()).isEqualTo(naive.shrink());
            }
        }

        private void alloc() {
            final @Nullable FakeStream stream = random.nextInt(3) == 0 ? null : stream();
            final long byteSize = 1L + random.nextInt(1 << random.nextInt(4, 14));
            long address = 0;
            try {
                address = stream == null ? allocator.alloc(byteSize) : allocator.allocOnStream(byteSize, stream);
                live.add(address);
            } catch (OutOfMemoryException e) {
                assertThat(e.shortage().requested()).isEqualTo(byteSize);
            }
            assertThat(address).isEqualTo(naive.alloc(byteSize, stream));
        }

        private void free() {
            if (!live.isEmpty()) {
                final long address = live.remove(random.nextInt(live.size()));
                allocator.free(address);
                naive.free(address);
            }
        }
    }

    @Nested
    class Tables {
        @Test
        void areSmallAgainAfterManyRegionsHaveGoneBack() {
            final long before = memory.bookkeepingBytes();
            final List<FakeStream> streams = new ArrayList<>();
            for (int i = 0; i < MANY; i++) {
                streams.add(new FakeStream());
                free(alloc(streams.get(i)));
            }
            streams.forEach(lanes::releaseStream);
            assertThat(lanes.countRegions()).isEqualTo(MANY);
            assertThat(lanes.releaseIdle(new Failures())).isEqualTo(MANY);
            assertThat(memory.bookkeepingBytes()).isEqualTo(before);
        }

        @Test
        void areSmallAgainAfterAClose() {
            final long before = memory.bookkeepingBytes();
            for (int i = 0; i < MANY; i++) {
                alloc(new FakeStream());
            }
            memory.prepareReturns(lanes.countRegions());
            lanes.releaseAll(new Failures());
            assertThat(memory.bookkeepingBytes()).isEqualTo(before);
            assertThat(lanes.countRegions()).isZero();
        }
    }

    /** Streams that ended and that nobody released, more of them than a search visits. */
    @Nested
    class EndedStreams {
        private void end(int count) {
            for (int i = 0; i < count; i++) {
                try (FakeStream stream = new FakeStream()) {
                    free(alloc(stream));
                }
            }
        }

        @Test
        void leaveMemoryThatOthersFindOnceTheTableOfStreamsIsFull() {
            end(StreamLanes.FEW);
            assertThat(lanes.countRegions()).isOne();
            final List<FakeStream> open = new ArrayList<>();
            for (int i = 0; i < 2 * StreamLanes.FEW; i++) {
                open.add(new FakeStream());
                alloc(open.get(i));
            }
            end(100);
            assertThat(lanes.countRegions()).isLessThan(2 * StreamLanes.FEW + 40);
        }

        @Test
        void leaveMemoryThatGoesBackBeforeARequestFails() {
            final List<FakeStream> open = new ArrayList<>();
            for (int i = 0; i < StreamLanes.FEW; i++) {
                open.add(new FakeStream());
                alloc(open.get(i));
            }
            end(3);
            device.capacity(device.liveBytes());
            final int before = lanes.countRegions();
            assertThat(lanes.allocate(REGION + 1, lanes.common, counters)).isNotZero();
            assertThat(lanes.countRegions()).isLessThan(before);
        }
    }
}
