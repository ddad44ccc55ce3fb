package allocator.bench.subject;

import java.lang.foreign.Arena;
import java.util.function.Supplier;

/** The JDK's arenas, one for each block, since they free nothing until they are closed. Their memory is zeroed. */
final class JdkSubject extends Subject {
    private final Supplier<Arena> arenas;

    JdkSubject(Supplier<Arena> arenas) {
        this.arenas = arenas;
    }

    @Override
    public Slots slots(int count) {
        final Arena[] blocks = new Arena[count];
        return new Slots() {
            @Override
            public void alloc(int slot, int byteSize) {
                final Arena arena = arenas.get();
                arena.allocate(byteSize);
                blocks[slot] = arena;
            }

            @Override
            public void free(int slot) {
                blocks[slot].close();
            }

            @Override
            public void touch(int slot, int byteSize) {
                // Zeroing has touched it.
            }
        };
    }

    @Override
    public void close() {
        // Nothing is held.
    }
}
