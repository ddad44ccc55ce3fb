import org.jspecify.annotations.NullMarked;

/** Allocation traces: the format, a streaming reader, a recorder, and replay through a session. */
@NullMarked
module java.allocator.trace {
    requires transitive java.allocator.runtime;
    requires transitive java.allocator.spi;
    requires java.allocator.provider.support;
    requires static org.jspecify;

    exports allocator.trace;
}
