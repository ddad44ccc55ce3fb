package allocator.runtime;

import java.lang.foreign.Arena;
import java.util.Map;

/**
 * A program whose Java heap ends at each place of an allocation in an arena of a session. The close of the arena frees
 * nothing that another user has allocated since.
 */
final class SessionArenaHeapEnd {
    private static final int BYTES = 4096;
    private static final int ENDS = 40;

    /** Small objects that fill the rest of the heap. */
    private final Object[] filling = new Object[1 << 20];

    private int filled;
    private Object[] ballast;

    private SessionArenaHeapEnd() {}

    public static void main(String[] args) {
        final SessionArenaHeapEnd program = new SessionArenaHeapEnd();
        try (Environment environment = Environment.create();
                Session session = environment.openSession("cpu-reference", Map.of())) {
            try (Arena warmUp = session.newArena()) {
                warmUp.allocate(BYTES);
            }
            int ends = 0;
            for (int spare = 0; spare < ENDS; spare++) {
                ends += program.endsIn(session, spare) ? 1 : 0;
            }
            if (ends == 0) {
                throw new AssertionError("the heap has never ended");
            }
        }
    }

    /** Allocates with room for few objects; returns whether the heap ended in it. */
    private boolean endsIn(Session session, int spare) {
        final ManagedAllocator allocator = session.allocator();
        final Arena arena = session.newArena();
        final boolean hasEnded = !isAllocated(arena, spare);
        final long block = allocator.alloc(BYTES);
        arena.close();
        final long other = allocator.alloc(BYTES);
        if (block == other) {
            throw new AssertionError("two live blocks at 0x" + Long.toHexString(block));
        }
        allocator.free(block);
        allocator.free(other);
        return hasEnded;
    }

    private boolean isAllocated(Arena arena, int spare) {
        boolean isAllocated = false;
        try {
            fill(spare);
            arena.allocate(BYTES);
            isAllocated = true;
        } catch (OutOfMemoryError e) {
            // What the program is for.
        }
        while (filled > 0) {
            filling[--filled] = null;
        }
        ballast = null;
        return isAllocated;
    }

    /** Fills the heap, except room for a number of small objects. */
    private void fill(int spare) {
        for (int length = 1 << 16; length > 1 << 9; length /= 2) {
            fillWithArrays(length);
        }
        try {
            while (filled < filling.length) {
                filling[filled] = new Object();
                filled++;
            }
        } catch (OutOfMemoryError e) {
            // Full.
        }
        for (int i = 0; i < spare; i++) {
            filling[--filled] = null;
        }
    }

    private void fillWithArrays(int length) {
        try {
            while (true) {
                final Object[] more = new Object[length];
                more[0] = ballast;
                ballast = more;
            }
        } catch (OutOfMemoryError e) {
            // No array of this length fits.
        }
    }
}
