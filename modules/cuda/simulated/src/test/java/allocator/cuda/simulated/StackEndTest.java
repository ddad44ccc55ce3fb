package allocator.cuda.simulated;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.testkit.SmallStack;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Calls at every distance from the end of a stack: each is made whole or not begun, as a native one is. */
class StackEndTest {
    private static final int CALLS = 2000;
    private static final long BLOCK = 4096;

    private final Random random = new Random(7);
    private final SimulatedCudaDriver driver =
            SimulatedCudaDriver.builder().withMemory(1L << 30).build();
    private final List<Long> live = new ArrayList<>();
    private long address;

    @Test
    void noCallOfAPoolEndsHalfWay() {
        driver.devices().primaryContextRetain(0);
        final long pool = driver.pools().memPoolCreate(0);
        final long stream = driver.streams().streamCreate(0);
        SmallStack.run(stack -> {
            for (int i = 0; i < CALLS; i++) {
                if (live.isEmpty() || random.nextBoolean()) {
                    allocate(stack, pool, stream);
                } else {
                    free(stack, stream);
                }
            }
            assertThat(stack.completed()).isGreaterThan(40);
            assertThat(stack.overflows()).isGreaterThan(40);
        });
        live.forEach(block -> driver.pools().memFreeAsync(0, block, stream));
        driver.streams().streamDestroy(0, stream);
        driver.pools().memPoolDestroy(0, pool);
        driver.devices().primaryContextRelease(0);
        driver.close();
    }

    private void allocate(SmallStack stack, long pool, long stream) {
        if (stack.callNearEnd(12, () -> address = driver.pools().memAllocFromPoolAsync(0, pool, BLOCK, stream))) {
            live.add(address);
        }
    }

    private void free(SmallStack stack, long stream) {
        final int index = random.nextInt(live.size());
        final long block = live.get(index);
        if (stack.callNearEnd(12, () -> driver.pools().memFreeAsync(0, block, stream))) {
            live.remove(index);
        }
    }
}
