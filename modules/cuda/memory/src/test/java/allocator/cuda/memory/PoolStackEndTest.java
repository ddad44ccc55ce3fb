package allocator.cuda.memory;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.provider.support.Limit;
import allocator.provider.support.StreamOwner;
import allocator.spi.AllocatorOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The stack ends inside a pool, at every distance: nothing is lost, and the pool can be closed. */
class PoolStackEndTest {
    private static final int ROUNDS = 5;
    private static final int DEEPEST = 100_000;
    private static final long STACK_BYTES = 256 << 10;

    /** How far from the end of the stack calls are made, in frames. */
    private static final int FRAMES = 200;

    private final LeanDriver driver = new LeanDriver(1 << 20);
    private final CudaDevice device = new CudaDevice(driver, driver.info(0));
    private final DriverPool pool =
            DriverPool.create(device, new PoolSettings(Limit.NONE, Long.MAX_VALUE, 0), AllocatorOptions.EMPTY);
    private final CudaSyncStream stream = new CudaSyncStream(device, device.defaultMemory(), new StreamOwner<>() {
        @Override
        public void runEnded(CudaSyncStream ended) {}

        @Override
        public void workEnded(CudaSyncStream ended) {}

        @Override
        public void closed(CudaSyncStream ended) {}
    });
    private final List<Long> live = new ArrayList<>();
    private long address;
    private int overflows;

    @Test
    @Timeout(value = 2, unit = TimeUnit.MINUTES)
    void aCallThatOverflowsHasItsEffectOrNone() throws InterruptedException {
        final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
        final Thread thread = new Thread(null, this::run, "small stack", STACK_BYTES);
        thread.setUncaughtExceptionHandler((dead, e) -> failure.set(e));
        thread.start();
        thread.join();
        assertThat(failure.get()).isNull();
        assertThat(overflows).isGreaterThan(ROUNDS);
    }

    private void run() {
        for (int round = 0; round < ROUNDS; round++) {
            final int end = deepest();
            for (int depth = Math.max(0, end - FRAMES); depth < end; depth++) {
                allocate(depth);
                free(depth + 1);
            }
        }
        stream.close(); // waits for every call that uses it
        pool.destroy(); // waits for every call that has entered
        assertThat(driver.out()).isZero();
    }

    /** The depth at which a descent overflows. */
    private static int deepest() {
        int low = 0;
        int high = DEEPEST;
        while (low < high) {
            final int middle = (low + high) / 2;
            try {
                descend(middle, () -> {});
                low = middle + 1;
            } catch (StackOverflowError e) {
                high = middle;
            }
        }
        return low;
    }

    private static void descend(int frames, Runnable action) {
        if (frames == 0) {
            action.run();
        } else {
            descend(frames - 1, action);
        }
    }

    private void allocate(int depth) {
        address = 0;
        overflow(
                depth,
                (depth & 1) == 0
                        ? () -> address = pool.alloc(LeanDriver.BLOCK)
                        : () -> address = pool.allocOnStream(LeanDriver.BLOCK, stream));
        if (address != 0) {
            live.add(address);
        }
        verify();
    }

    private void free(int depth) {
        if (live.isEmpty()) {
            return;
        }
        final long freed = live.getLast();
        overflow(depth, () -> pool.free(freed));
        if (pool.stats().bytesInUse() < live.size() * LeanDriver.BLOCK) {
            live.removeLast();
        }
        verify();
    }

    private void overflow(int depth, Runnable action) {
        try {
            descend(depth, action);
        } catch (StackOverflowError e) {
            overflows++;
        }
    }

    private void verify() {
        pool.shrink(); // gives back what is unreturned
        assertThat(pool.stats().bytesInUse()).isEqualTo(live.size() * LeanDriver.BLOCK);
        assertThat(driver.out()).isEqualTo(live.size());
    }
}
