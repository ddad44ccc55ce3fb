import org.jspecify.annotations.NullMarked;

/**
 * The provider of host memory: the embedded default, and a template for other providers.
 *
 * <p>Read its classes in this order: {@code CpuReferenceFactory} serves the runtime, {@code HostAllocator} takes memory
 * from the system, {@code CpuArena} is an arena over it, {@code CpuStream} stands in for a device's queue.
 * {@code docs/providers.md} explains how to write a provider.
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
