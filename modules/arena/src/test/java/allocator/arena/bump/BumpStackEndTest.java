package allocator.arena.bump;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.arena.SmallStack;
import allocator.spi.AllocatorOptions;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * The stack ends inside a bump allocator: no live block is handed out again, no lock stays locked, and a close returns
 * all memory. The allocator may be broken.
 */
class BumpStackEndTest {
    private static final int PROGRAMS = 10;
    private static final int OPERATIONS = 150;

    @Test
    void liveBlocksStayApartAndACloseReturnsAllMemory() {
        SmallStack.run(stack -> {
            for (int seed = 0; seed < PROGRAMS; seed++) {
                new Program(seed).run(stack);
            }
            assertThat(stack.overflows()).isGreaterThan(40);
        });
    }

    @Test
    void aBrokenAllocatorFreesNothingAndAllocatesNothingUntilItsClose() {
        final FakeDevice device = new FakeDevice();
        final FakeStream stream = new FakeStream();
        SmallStack.run(stack -> {
            for (int left = 0; left < 100_000; left++) {
                final BumpAllocator allocator =
                        new BumpAllocator(device, BumpConfig.growing(4096), 0, AllocatorOptions.EMPTY);
                final long block = allocator.allocOnStream(4096, stream);
                allocator.free(allocator.allocOnStream(100, stream));
                stack.callNearEnd(10, () -> allocator.releaseStream(stream));
                if (isBroken(allocator)) {
                    allocator.free(block);
                    allocator.endRun(stream);
                    allocator.releaseStream(stream);
                    assertThatThrownBy(() -> allocator.alloc(1))
                            .isInstanceOf(IllegalStateException.class)
                            .hasMessageContaining("the end of a thread's stack");
                    assertThatThrownBy(() -> allocator.reserve(1)).isInstanceOf(IllegalStateException.class);
                    assertThatThrownBy(allocator::shrink).isInstanceOf(IllegalStateException.class);
                    assertThat(allocator.stats().bytesHeld()).isEqualTo(device.liveBytes());
                    assertThat(allocator.inspect().regions()).isNotEmpty();
                    left = 100_000;
                }
                allocator.close();
                assertThat(device.liveBytes()).isZero();
            }
        });
    }

    private static boolean isBroken(BumpAllocator allocator) {
        try {
            allocator.free(allocator.alloc(1));
            return false;
        } catch (IllegalStateException e) {
            return true;
        }
    }

    /** A device in which the stack ends before it has done anything, or not at all. */
    private static final class DeepDevice extends FakeDevice {
        private static final int FRAMES = 500;

        @Override
        public synchronized long alloc(long byteSize) {
            return super.alloc(byteSize + roomFor(FRAMES));
        }

        @Override
        public synchronized void free(long address) {
            super.free(address + roomFor(FRAMES));
        }

        @Override
        public synchronized long returnAgain() {
            return super.returnAgain() + roomFor(FRAMES);
        }

        /** Returns 0. */
        private static int roomFor(int frames) {
            return frames == 0 ? 0 : roomFor(frames - 1);
        }
    }

    private static final class Program {
        private final Random random;
        private final FakeDevice device = new DeepDevice();
        private final List<FakeStream> streams = List.of(new FakeStream(), new FakeStream());
        private final BumpAllocator allocator =
                new BumpAllocator(device, new BumpConfig(4096, 8192, 60_000), 150_000, AllocatorOptions.EMPTY);
        private final Map<Long, Long> live = new HashMap<>();
        private long result;

        Program(int seed) {
            random = new Random(seed);
        }

        void run(SmallStack stack) {
            try {
                for (int i = 0; i < OPERATIONS; i++) {
                    step(stack);
                }
            } catch (IllegalStateException e) {
                assertThat(e).hasMessageContaining("is broken");
            }
            allocator.close();
            assertThat(device.liveBytes()).isZero();
        }

        private void step(SmallStack stack) {
            final FakeStream stream = streams.get(random.nextInt(2));
            final long byteSize = 1L + random.nextInt(3000);
            switch (random.nextInt(10)) {
                case 0 -> stack.callNearEnd(12, () -> allocator.endRun(stream));
                case 1 -> stack.callNearEnd(12, () -> allocator.releaseStream(stream));
                case 2 -> stack.callNearEnd(12, allocator::shrink);
                case 3, 4, 5 -> free(stack);
                case 6 -> allocated(stack.callNearEnd(12, () -> result = allocator.reserve(byteSize)), byteSize);
                case 7, 8 ->
                    allocated(
                            stack.callNearEnd(12, () -> result = allocator.allocOnStream(byteSize, stream)), byteSize);
                default -> allocated(stack.callNearEnd(12, () -> result = allocator.alloc(byteSize)), byteSize);
            }
        }

        private void allocated(boolean hasReturned, long byteSize) {
            if (hasReturned) {
                final long start = result;
                live.forEach((address, size) -> assertThat(start + byteSize <= address || address + size <= start)
                        .isTrue());
                live.put(start, byteSize);
            }
        }

        private void free(SmallStack stack) {
            final List<Long> addresses = new ArrayList<>(live.keySet());
            if (addresses.size() > 20) {
                final long address = addresses.get(random.nextInt(addresses.size()));
                live.remove(address); // where the stack ends, the free has had its effect or none
                stack.callNearEnd(12, () -> allocator.free(address));
            }
        }
    }
}
