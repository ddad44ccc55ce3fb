package allocator.arena.bump;

import static org.assertj.core.api.Assertions.assertThat;

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
    private static final long REGION = 4096;

    private final FakeDevice device = new FakeDevice();
    private final BumpLanes lanes = new BumpLanes(new RegionSource(device, Limit.NONE), BumpConfig.growing(REGION));

    /** Allocates a block in a region of its own. */
    private long alloc(FakeStream stream) {
        return lanes.allocate(REGION, lanes.laneOf(stream));
    }

    /** Random programs get the blocks that a naive choice among all regions gives them. */
    @Property
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

    /** Streams that ended and were not released. */
    @Nested
    class EndedStreams {
        private void end(int count) {
            for (int i = 0; i < count; i++) {
                try (FakeStream stream = new FakeStream()) {
                    lanes.free(alloc(stream));
                }
            }
        }

        @Test
        void leaveMemoryThatOtherStreamsTake() {
            end(1000);
            assertThat(lanes.countRegions()).isOne();
        }

        @Test
        void leaveMemoryThatGoesBackBeforeARequestFails() {
            end(3);
            device.capacity(device.liveBytes());
            assertThat(lanes.allocate(REGION + 1, lanes.common)).isZero();
            assertThat(lanes.countRegions()).isZero();
        }
    }

    @Nested
    class PartlyUsedRegions {
        /** More of them than a request looks at before the device is called. */
        @Test
        void areAllTriedBeforeARequestFails() {
            lanes.allocate(REGION / 2, lanes.common);
            for (int i = 0; i < 200; i++) {
                lanes.allocate(REGION - 512, lanes.common);
            }
            final int before = lanes.countRegions();
            device.capacity(device.liveBytes());
            assertThat(lanes.allocate(REGION / 2, lanes.common)).isNotZero();
            assertThat(lanes.countRegions()).isEqualTo(before);
        }
    }
}
