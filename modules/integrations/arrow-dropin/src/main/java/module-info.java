import org.jspecify.annotations.NullMarked;

/**
 * Arrow's default allocation manager: unchanged programs of Apache Arrow allocate from
 * {@link allocator.arrow.ProcessMemory}.
 *
 * <p>In place of {@code arrow-memory-unsafe}, of which it has the package. A module of its own, since a program that
 * chooses {@link allocator.arrow.ArrowMemory} itself may have that jar on its module path too.
 */
@NullMarked
module java.allocator.arrow.dropin {
    requires transitive java.allocator.arrow;
    requires static org.jspecify;

    exports org.apache.arrow.memory.unsafe;
}
