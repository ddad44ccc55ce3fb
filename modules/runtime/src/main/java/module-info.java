import org.jspecify.annotations.NullMarked;

/**
 * The runtime between an application and allocator providers: finds and checks providers, owns shared allocators, and
 * opens a session with allocators, streams and runs for each workload.
 *
 * <p>Start at {@link allocator.runtime.Environment}. This module finds providers and requires none of them.
 *
 * @uses allocator.spi.EpFactory
 */
// The module of ONNX Runtime requires this one, so it is compiled later.
@SuppressWarnings("module")
@NullMarked
module java.allocator.runtime {
    requires transitive java.allocator.spi;
    requires java.allocator.provider.support;
    requires static java.management;
    requires static org.jspecify;

    exports allocator.runtime;
    exports allocator.runtime.inspection to
            java.allocator.onnxruntime;
    exports allocator.runtime.metrics;
    exports allocator.runtime.snapshot;

    uses allocator.spi.EpFactory;
}
