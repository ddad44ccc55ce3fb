package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.testkit.SmallStack;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
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
        private static final int OPERATIONS = 500;

        private final Random random = new Random(5);
        private final List<Long> live = new ArrayList<>();
        private long result;

        @ParameterizedTest
        @ValueSource(booleans = {false, true})
        void noBlockIsLost(boolean isReserve) {
            final OnnxRuntimeFactory factory = new OnnxRuntimeFactory();
            final Allocator arena = factory.createAllocator(NativeEnvironment.CPU, AllocatorOptions.of(Map.of()));
            arena.free(arena.alloc(BYTE_SIZE));
            arena.free(arena.reserve(BYTE_SIZE));
            SmallStack.run(stack -> play(stack, arena, isReserve));
            live.forEach(arena::free);
            arena.free(arena.alloc(BYTE_SIZE));
            assertEquals(0, arena.stats().bytesInUse());
            factory.releaseAllocator(arena);
            factory.close();
        }

        private void play(SmallStack stack, Allocator arena, boolean isReserve) {
            for (int i = 0; i < OPERATIONS; i++) {
                if (!live.isEmpty() && random.nextBoolean()) {
                    final long address = live.getLast();
                    if (stack.callNearEnd(9, () -> arena.free(address))) {
                        live.removeLast();
                    }
                } else if (stack.callNearEnd(
                        9, () -> result = isReserve ? arena.reserve(BYTE_SIZE) : arena.alloc(BYTE_SIZE))) {
                    live.add(result);
                }
            }
            assertTrue(stack.overflows() > 100, () -> stack.overflows() + " calls overflowed");
        }
    }
}
