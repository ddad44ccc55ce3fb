import org.jspecify.annotations.NullMarked;

/**
 * Buffers of Apache Arrow in memory of a provider of this project.
 *
 * <p>Start at {@link allocator.arrow.ArrowMemory}, the allocation manager for the builder of a root allocator. For a
 * program that is not to be changed, put {@code java.allocator.arrow.dropin} in place of {@code arrow-memory-unsafe}.
 *
 * @uses allocator.spi.EpFactory providers selected by name
 */
// The drop-in module requires this one, so it is compiled later.
@SuppressWarnings("module")
@NullMarked
module java.allocator.arrow {
    requires transitive java.allocator.resource;
    requires transitive java.allocator.spi;
    requires transitive org.apache.arrow.memory.core;
    requires java.allocator.provider.support;
    requires static org.jspecify;

    exports allocator.arrow;

    uses allocator.spi.EpFactory;
}
