import org.jspecify.annotations.NullMarked;

/**
 * Memory resources that compose: sources of host and device memory, decorators that each add one concern, budgets,
 * logs, blocks that track the device work that uses them, and typed arrays.
 *
 * <p>A resource over host memory needs {@code --enable-native-access=java.allocator.resource}.
 */
@NullMarked
module java.allocator.resource {
    requires transitive java.allocator.spi;
    requires transitive java.allocator.provider.support;
    requires static org.jspecify;

    exports allocator.resource;
    exports allocator.resource.budget;
    exports allocator.resource.leak;
    exports allocator.resource.log;
    exports allocator.resource.tracked;
    exports allocator.resource.typed;
}
