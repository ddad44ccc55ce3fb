import org.jspecify.annotations.NullMarked;

/** Lifetimes of blocks, plans of their offsets, and files of them: what a planner makes and an arena follows. */
@NullMarked
module java.allocator.plan {
    requires static org.jspecify;

    exports allocator.plan;
}
