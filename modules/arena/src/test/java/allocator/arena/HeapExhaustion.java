package allocator.arena;

import java.util.ArrayList;
import java.util.List;

/**
 * A program for a JVM of its own: the Java heap ends while an arena merges what it keeps. The merge stops half way; what it
 * had not come to yet is kept still, and the same request is served when there is heap again.
 */
final class HeapExhaustion {
    private static final int BLOCKS = 20_000;
    private static final long REGION = 2L * BLOCKS * Units.BYTES;

    private HeapExhaustion() {}

    public static void main(String[] args) {
        final BfcArena arena = new BfcArena(
                new SimulatedDevice(),
                new ArenaConfig(
                        ExtendStrategy.POWER_OF_TWO,
                        REGION,
                        REGION,
                        REGION,
                        1 << 20,
                        0,
                        PlacementPolicy.QUICK_FIT,
                        REGION,
                        0,
                        false));
        final List<Long> walls = keepEverySecond(arena);
        if (!isHeapExhaustedBy(arena)) {
            throw new AssertionError("the request was served without heap");
        }
        arena.checkConsistency();
        final long large = arena.alloc(REGION);
        arena.checkConsistency();
        walls.forEach(arena::free);
        arena.free(large);
        arena.checkConsistency();
        arena.shrink();
        if (arena.stats().bytesHeld() != 0) {
            throw new AssertionError(arena.stats());
        }
    }

    /** Frees every second block, so that no two that are kept can become one; answers the others. */
    private static List<Long> keepEverySecond(BfcArena arena) {
        final List<Long> freed = new ArrayList<>();
        final List<Long> live = new ArrayList<>();
        for (int i = 0; i < BLOCKS; i++) {
            freed.add(arena.alloc(1));
            live.add(arena.alloc(1));
        }
        freed.forEach(arena::free);
        arena.checkConsistency();
        return live;
    }

    /** Asks for what only a merge could serve, with no heap left for the indexes of what is merged. */
    private static boolean isHeapExhaustedBy(BfcArena arena) {
        Object[] ballast = null;
        for (int length = 1 << 18; length > 16; length /= 2) {
            try {
                while (true) {
                    final Object[] next = new Object[length];
                    next[0] = ballast;
                    ballast = next;
                }
            } catch (OutOfMemoryError _) {
                // and the next ones are smaller
            }
        }
        try {
            arena.alloc(REGION);
            return false;
        } catch (OutOfMemoryError _) {
            return ballast != null;
        }
    }
}
