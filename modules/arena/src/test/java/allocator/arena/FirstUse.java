package allocator.arena;

import allocator.spi.AllocatorException;
import allocator.testkit.FakeDevice;
import allocator.testkit.SmallHeap;
import allocator.testkit.SmallStack;
import java.util.List;

/**
 * A program whose first calls of an arena are made where the Java heap or the stack ends, or which loads classes. It is
 * run in its own JVM.
 */
final class FirstUse {
    /** Every call of {@link #use}. */
    private static final List<String> CALLS = List.of(
            "reserve",
            "alloc",
            "shrink",
            "invalid size",
            "too large",
            "double free",
            "interior free",
            "foreign free",
            "no memory",
            "no memory to reserve",
            "closed");

    private static final long MEMORY = 1L << 30;

    private FirstUse() {}

    public static void main(String[] args) {
        final BfcArena arena = arena();
        if (args[0].equals("classes")) {
            Begun.now();
            CALLS.forEach(call -> use(arena, call));
            return;
        }
        if (args[0].equals("heap")) {
            SmallHeap.call(() -> use(arena, args[1]));
        } else {
            SmallStack.run(stack -> {
                for (int left = 1; left < 600; left++) {
                    final int depth = stack.depth() - left;
                    stack.callAt(depth, () -> use(arena, args[1]));
                }
            });
        }
        use(arena(), args[1]); // with heap and stack again
    }

    private static BfcArena arena() {
        return new BfcArena(new FakeDevice().capacity(MEMORY), ArenaConfig.DEFAULT);
    }

    private static void use(BfcArena arena, String call) {
        switch (call) {
            case "reserve" -> arena.free(arena.reserve(1000));
            case "alloc" -> arena.free(arena.alloc(5000));
            case "shrink" -> arena.shrink();
            case "double free" -> {
                final long block = arena.alloc(5000);
                arena.free(block);
                reject(() -> arena.free(block));
            }
            case "interior free" -> {
                final long block = arena.alloc(5000);
                reject(() -> arena.free(block + 1));
                arena.free(block);
            }
            case "foreign free" -> reject(() -> arena.free(1));
            case "no memory" -> reject(() -> arena.alloc(MEMORY + 1));
            case "no memory to reserve" -> reject(() -> arena.reserve(MEMORY + 1));
            case "closed" -> {
                final BfcArena closed = arena();
                closed.close();
                reject(() -> closed.alloc(1));
            }
            case "too large" -> reject(() -> arena.alloc(Long.MAX_VALUE));
            case "invalid size" -> reject(() -> arena.alloc(-1));
            default -> throw new IllegalArgumentException(call);
        }
    }

    private static void reject(Runnable call) {
        try {
            call.run();
        } catch (AllocatorException e) {
            // As it must be.
        }
    }

    /** A class whose loading is seen in the log of loaded classes. */
    static final class Begun {
        private Begun() {}

        private static void now() {}
    }
}
