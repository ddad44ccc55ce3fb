package allocator.arena.bump;

import allocator.arena.BfcArena;

/** The kinds of arena that {@link BumpOptions#KIND} chooses from. */
public enum ArenaKind {
    /** Best fit with coalescing: {@link BfcArena}. */
    BFC,
    /** Bump allocation: {@link BumpAllocator}. */
    BUMP
}
