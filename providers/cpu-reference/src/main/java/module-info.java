import org.jspecify.annotations.NullMarked;

/**
 * The provider of host memory.
 *
 * <p>It is the embedded default, and the template for other providers: slow, obvious, and checking everything.
 */
@NullMarked
module java.allocator.cpu.reference {
    requires java.allocator.arena;
    requires java.allocator.spi;
    requires static org.jspecify;
}
