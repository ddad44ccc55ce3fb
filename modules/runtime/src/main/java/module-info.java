import org.jspecify.annotations.NullMarked;

/**
 * The runtime between an application and allocator providers: finds and checks providers, owns shared allocators, and
 * opens a session with allocators, streams and runs for each workload.
 *
 * <p>Start at {@link allocator.runtime.Environment}. This module finds providers and requires none of them.
 *
 * @uses allocator.spi.EpFactory
 */
@NullMarked
module java.allocator.runtime {
    requires transitive java.allocator.spi;
    requires java.allocator.provider.support;
    requires static java.management;
    requires static org.jspecify;

    exports allocator.runtime;
    exports allocator.runtime.metrics;
    exports allocator.runtime.snapshot;
    // Internal, no API. Qualified exports do not reach modules that a directory of providers adds.
    exports allocator.runtime.inspection;

    uses allocator.spi.EpFactory;
}
