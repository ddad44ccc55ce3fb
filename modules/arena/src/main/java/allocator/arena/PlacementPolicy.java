package allocator.arena;

/** Which free memory of an arena serves a request, and where that memory comes from. */
public enum PlacementPolicy {
    /**
     * The smallest free chunk that is large enough, as in ONNX Runtime. A freed chunk merges with its free neighbours
     * at once.
     */
    BEST_FIT,
    /**
     * The chunk freed last in about the requested size; if there is none, the best fit. A freed chunk is cached for the
     * next request of its size, and merges with its neighbours before the arena would have to grow. Sizes are rounded
     * up by at most an eighth. Faster than best fit; placement differs from ONNX Runtime's.
     */
    QUICK_FIT,
    /**
     * The best fit on pages: chunks lie in one range of addresses, and pages of physical memory are mapped where chunks
     * are in use. Free memory in pieces serves a large request, as its pages are mapped side by side. Holds little more
     * than what lives; needs a {@link allocator.arena.page.PageSource}.
     */
    COMPACT;

    /** Returns whether memory comes from pages; otherwise it comes from regions. */
    boolean needsPages() {
        return this == COMPACT;
    }
}
