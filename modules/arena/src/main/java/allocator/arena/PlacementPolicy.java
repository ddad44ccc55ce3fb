package allocator.arena;

/** Which free memory of an arena serves a request, and where that memory comes from. */
public enum PlacementPolicy {
    /** The smallest free chunk that fits, as in ONNX Runtime. A freed chunk merges with free neighbours at once. */
    BEST_FIT,
    /**
     * The best fit for requests of more than 64 KiB; for smaller ones a unit of a slab, which is a piece of memory of
     * up to 512 KiB divided into units of one size. Sizes are rounded up by at most a seventeenth. Faster than best fit
     * where most blocks are small; placement differs from ONNX Runtime's.
     */
    SLABS,
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
