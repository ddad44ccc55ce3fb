import org.jspecify.annotations.NullMarked;

/**
 * What stands between an application and allocator providers: finds and checks providers, owns shared allocators, and
 * gives each workload a session with allocators, streams and runs.
 *
 * <p>Begin at {@link allocator.runtime.Environment}. Providers are found by this module, never required by it.
 *
 * @uses allocator.spi.EpFactory
 */
@NullMarked
module java.allocator.runtime {
    requires transitive java.allocator.spi;
    requires static org.jspecify;

    exports allocator.runtime;

    uses allocator.spi.EpFactory;
}
