import org.jspecify.annotations.NullMarked;

/** Plans memory from lifetimes: fixed offsets in as little memory as possible, with a lower bound. */
@NullMarked
module java.allocator.planner {
    requires transitive java.allocator.plan;
    requires static org.jspecify;

    exports allocator.planner;
}
