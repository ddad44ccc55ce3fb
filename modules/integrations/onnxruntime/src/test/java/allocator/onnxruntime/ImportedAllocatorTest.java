package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ImportedAllocatorTest {
    private static final int BYTE_SIZE = 256;

    /** Calls at every distance from the end of a thread's stack. */
    @Nested
    @Timeout(60)
    class StackEnd {
        private static final long STACK_BYTES = 256 << 10;
        private static final int OPERATIONS = 500;

        private final Random random = new Random(5);
        private final List<Long> live = new ArrayList<>();
        private int overflows;

        @ParameterizedTest
        @ValueSource(booleans = {false, true})
        void noBlockIsLost(boolean isReserve) throws InterruptedException {
            final OnnxRuntimeFactory factory = new OnnxRuntimeFactory();
            final Allocator arena = factory.createAllocator(NativeEnvironment.CPU, AllocatorOptions.of(Map.of()));
            arena.free(arena.alloc(BYTE_SIZE));
            arena.free(arena.reserve(BYTE_SIZE));
            final AtomicReference<Throwable> failure = new AtomicReference<>();
            final Thread thread = new Thread(null, () -> play(arena, isReserve), "small stack", STACK_BYTES);
            thread.setUncaughtExceptionHandler((ignored, e) -> failure.set(e));
            thread.start();
            thread.join();
            if (failure.get() != null) {
                throw new AssertionError(failure.get());
            }
            assertTrue(overflows > 100, () -> overflows + " calls overflowed");
            live.forEach(arena::free);
            arena.free(arena.alloc(BYTE_SIZE));
            assertEquals(0, arena.stats().bytesInUse());
            factory.releaseAllocator(arena);
            factory.close();
        }

        private void play(Allocator arena, boolean isReserve) {
            int deepest = 0;
            for (int i = 0; i < OPERATIONS; i++) {
                if (i % 100 == 0) {
                    deepest = deepest();
                }
                final int depth = Math.max(0, deepest + 2 - random.nextInt(1 << random.nextInt(2, 9)));
                final boolean isFree = !live.isEmpty() && random.nextBoolean();
                try {
                    if (isFree) {
                        final long address = live.getLast();
                        descend(depth, () -> arena.free(address));
                        live.removeLast();
                    } else {
                        final long[] address = new long[1];
                        descend(
                                depth,
                                () -> address[0] = isReserve ? arena.reserve(BYTE_SIZE) : arena.alloc(BYTE_SIZE));
                        live.add(address[0]);
                    }
                } catch (StackOverflowError e) {
                    overflows++;
                }
            }
        }

        private void descend(int depth, Runnable operation) {
            if (depth == 0) {
                operation.run();
            } else {
                descend(depth - 1, operation);
            }
        }

        /** Returns the greatest depth at which an empty operation returns. */
        private int deepest() {
            int low = 0;
            int high = 1 << 16;
            while (low < high - 1) {
                final int middle = (low + high) / 2;
                try {
                    descend(middle, () -> {});
                    low = middle;
                } catch (StackOverflowError e) {
                    high = middle;
                }
            }
            return low;
        }
    }
}
