import org.jspecify.annotations.NullMarked;

/** Memory resources over CUDA memory: device, pinned, unified and stream-ordered memory of one driver. */
@NullMarked
module java.allocator.cuda.resource {
    requires transitive java.allocator.cuda.driver;
    requires transitive java.allocator.resource;
    requires static org.jspecify;

    exports allocator.cuda.resource;
}
