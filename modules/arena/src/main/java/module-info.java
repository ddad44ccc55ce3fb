import org.jspecify.annotations.NullMarked;

/**
 * Arenas that suballocate regions of any upstream allocator: best fit with coalescing, as ONNX Runtime does it.
 *
 * <p>Pure bookkeeping on addresses: nothing here touches the memory that it hands out.
 */
@NullMarked
module java.allocator.arena {
    requires transitive java.allocator.plan;
    requires transitive java.allocator.provider.support;
    requires transitive java.allocator.spi;
    requires static org.jspecify;

    exports allocator.arena;
    exports allocator.arena.bump;
    exports allocator.arena.page;
    exports allocator.arena.plan;
}
