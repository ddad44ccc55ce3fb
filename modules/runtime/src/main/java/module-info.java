import org.jspecify.annotations.NullMarked;

/**
 * Environments, sessions and runs over the allocators of any provider.
 *
 * <p>Providers are found as services on the module path or in directories of jars; no provider is required here.
 */
@NullMarked
module java.allocator.runtime {
    requires transitive java.allocator.spi;
    requires static org.jspecify;
}
