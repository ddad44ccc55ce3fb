import org.jspecify.annotations.NullMarked;

/** Shows where memory is: reads snapshots and recordings, profiles traces, writes pages that need no network. */
@NullMarked
module java.allocator.view {
    requires transitive java.allocator.plan;
    requires transitive java.allocator.runtime;
    requires transitive java.allocator.spi;
    requires transitive java.allocator.trace;
    requires com.fasterxml.jackson.core;
    requires jdk.jfr;
    requires static org.jspecify;

    exports allocator.view;
    exports allocator.view.recording;
}
