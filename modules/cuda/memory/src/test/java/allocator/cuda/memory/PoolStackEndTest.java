package allocator.cuda.memory;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.provider.support.Limit;
import allocator.provider.support.StreamOwner;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.testkit.SmallStack;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The stack ends inside a pool, at every distance: nothing is lost, and the pool can be closed. */
class PoolStackEndTest {
    private static final int ROUNDS = 5;

    /** How far from the end of the stack calls are made, in frames. */
    private static final int FRAMES = 200;

    private final LeanDriver driver = new LeanDriver(1 << 20);
    private final CudaDevice device = new CudaDevice(driver, driver.info(0));
    private final DriverPool pool = DriverPool.create(
            device, new PoolSettings(Limit.NONE, Long.MAX_VALUE, 0, List.of()), AllocatorOptions.EMPTY);
    private final CudaSyncStream stream = new CudaSyncStream(device, device.defaultMemory(), new StreamOwner<>() {
        @Override
        public boolean isOpen(Allocator allocator) {
            return true;
        }

        @Override
        public void runEnded(CudaSyncStream ended) {}

        @Override
        public void workEnded(CudaSyncStream ended) {}

        @Override
        public void closed(CudaSyncStream ended) {}
    });
    private final List<Long> live = new ArrayList<>();
    private long address;

    @Test
    @Timeout(value = 2, unit = TimeUnit.MINUTES)
    void aCallThatOverflowsHasItsEffectOrNone() {
        SmallStack.run(this::run);
    }

    private void run(SmallStack stack) {
        for (int round = 0; round < ROUNDS; round++) {
            final int end = stack.depth();
            for (int depth = end - FRAMES; depth < end; depth++) {
                allocate(stack, depth);
                free(stack, depth + 1);
            }
        }
        stream.close(); // waits for every call that uses it
        pool.destroy(); // waits for every call that has entered
        assertThat(driver.out()).isZero();
        assertThat(stack.overflows()).isGreaterThan(ROUNDS);
    }

    private void allocate(SmallStack stack, int depth) {
        address = 0;
        stack.callAt(
                depth,
                (depth & 1) == 0
                        ? () -> address = pool.alloc(LeanDriver.BLOCK)
                        : () -> address = pool.allocOnStream(LeanDriver.BLOCK, stream));
        if (address != 0) {
            live.add(address);
        }
        verify();
    }

    private void free(SmallStack stack, int depth) {
        if (live.isEmpty()) {
            return;
        }
        final long freed = live.getLast();
        stack.callAt(depth, () -> pool.free(freed));
        if (pool.stats().bytesInUse() < live.size() * LeanDriver.BLOCK) {
            live.removeLast();
        }
        verify();
    }

    private void verify() {
        pool.shrink(); // gives back what is unreturned
        assertThat(pool.stats().bytesInUse()).isEqualTo(live.size() * LeanDriver.BLOCK);
        assertThat(driver.out()).isEqualTo(live.size());
    }
}
