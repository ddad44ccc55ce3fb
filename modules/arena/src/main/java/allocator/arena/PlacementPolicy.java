package allocator.arena;

/** Which free memory of an arena serves a request. */
public enum PlacementPolicy {
    /**
     * The least free chunk that is large enough, as in ONNX Runtime. What is freed merges with its neighbours at once.
     */
    BEST_FIT,
    /**
     * First what was freed in about that size, then the best fit. What is freed is kept as it is for the next request
     * of its size, and merges with its neighbours before the arena would have to grow. Requests are rounded up by an
     * eighth at most. Faster, and placement is not ONNX Runtime's.
     */
    QUICK_FIT
}
