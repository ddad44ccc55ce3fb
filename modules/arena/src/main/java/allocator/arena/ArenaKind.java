package allocator.arena;

/** How an arena finds memory for a request. */
public enum ArenaKind {
    /** Best fit with coalescing: {@link BfcArena}. */
    BFC,
    /** Behind the request before it, freed region by region: {@link BumpAllocator}. */
    BUMP
}
