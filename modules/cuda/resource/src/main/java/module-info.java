import org.jspecify.annotations.NullMarked;

/** Memory resources over a CUDA driver: device, pinned, managed and stream-ordered memory. */
@NullMarked
module java.allocator.cuda.resource {
    requires transitive java.allocator.cuda.driver;
    requires transitive java.allocator.cuda.memory;
    requires transitive java.allocator.resource;
    requires static org.jspecify;

    exports allocator.cuda.resource;
}
