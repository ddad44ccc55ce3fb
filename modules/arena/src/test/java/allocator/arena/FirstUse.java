package allocator.arena;

import allocator.spi.AllocatorException;
import allocator.testkit.FakeDevice;
import allocator.testkit.SmallStack;

/** A program whose first calls of an arena are made where the Java heap or the stack ends. It is run in its own JVM. */
final class FirstUse {
    private static final int MOST_LEFT = 200_000;
    private static final int STEP = 1500;

    private static Object[] ballast = {};

    private FirstUse() {}

    public static void main(String[] args) {
        final BfcArena arena = arena();
        if (args[0].equals("heap")) {
            useWithLittleHeap(arena, args[1]);
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
        return new BfcArena(new FakeDevice(), ArenaConfig.DEFAULT);
    }

    private static void useWithLittleHeap(BfcArena arena, String call) {
        for (int left = 16; left < MOST_LEFT; left += STEP) {
            byte[] kept = new byte[left];
            fill();
            kept = null;
            try {
                use(arena, call);
            } catch (OutOfMemoryError e) {
                // There is more heap the next time.
            } finally {
                ballast = new Object[0];
            }
        }
    }

    private static void fill() {
        final Object[] all = new Object[20_000];
        int filled = 0;
        for (int size = 1 << 20; size >= 16 && filled < all.length; ) {
            try {
                all[filled] = new byte[size];
                filled++;
            } catch (OutOfMemoryError e) {
                size /= 4;
            }
        }
        ballast = all;
    }

    private static void use(BfcArena arena, String call) {
        switch (call) {
            case "reserve" -> arena.free(arena.reserve(1000));
            case "alloc" -> arena.free(arena.alloc(5000));
            case "shrink" -> arena.shrink();
            default -> {
                try {
                    arena.alloc(-1);
                } catch (AllocatorException e) {
                    // As it must be.
                }
            }
        }
    }
}
