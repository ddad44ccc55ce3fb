import org.jspecify.annotations.NullMarked;

/**
 * The provider of host memory: the embedded default, and the template for providers of others.
 *
 * <p>It is written to be read from top to bottom: {@code CpuReferenceFactory} answers the runtime,
 * {@code HostAllocator} takes memory from the system, a {@code CpuArena} lies on top, {@code CpuStream} stands in for a
 * device's queue. How to write a provider of your own is told in {@code docs/providers.md}.
 *
 * @provides allocator.spi.EpFactory the provider {@code cpu-reference}
 */
@NullMarked
module java.allocator.cpu.reference {
    requires java.allocator.arena;
    requires java.allocator.provider.support;
    requires java.allocator.spi;
    requires static org.jspecify;

    provides allocator.spi.EpFactory with
            allocator.cpu.reference.CpuReferenceFactory;
}
