package allocator.resource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Any host-reachable resource as the JDK's own {@link java.lang.foreign.SegmentAllocator}, with a lifetime: the
 * counterpart of the proposal's {@code pmr_adaptor}.
 *
 * <p>What is allocated goes back to the resource when the arena is closed; its segments cannot be used any more then.
 * The bytes are not initialized. Live segments never overlap.
 */
public final class ResourceArena implements Arena {
    private final MemoryResource resource;
    private final Arena lifetime;

    private ResourceArena(MemoryResource resource, Arena lifetime) {
        this.resource = resource;
        this.lifetime = lifetime;
    }

    /**
     * An arena for the calling thread.
     *
     * @param resource where the memory comes from
     * @return the arena, to be closed by the calling thread
     * @throws IllegalArgumentException if the host cannot reach the resource's memory
     */
    public static ResourceArena ofConfined(MemoryResource resource) {
        return new ResourceArena(requireHostAccessible(resource), Arena.ofConfined());
    }

    /**
     * An arena for any thread.
     *
     * @param resource where the memory comes from
     * @return the arena, to be closed by any thread
     * @throws IllegalArgumentException if the host cannot reach the resource's memory
     */
    public static ResourceArena ofShared(MemoryResource resource) {
        return new ResourceArena(requireHostAccessible(resource), Arena.ofShared());
    }

    private static MemoryResource requireHostAccessible(MemoryResource resource) {
        if (!resource.kind().isHostAccessible()) {
            throw new IllegalArgumentException(
                    resource + " has " + resource.kind() + " memory, which the host cannot reach");
        }
        return resource;
    }

    /**
     * Allocates a segment.
     *
     * @param byteSize size in bytes
     * @param byteAlignment alignment in bytes, a power of two
     * @return a segment of exactly {@code byteSize} bytes that lives as long as this arena
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#allocate(long, long)}
     * @throws IllegalStateException if this arena is closed
     * @throws WrongThreadException if this arena is confined to another thread
     */
    @Override
    public MemorySegment allocate(long byteSize, long byteAlignment) {
        final long address = resource.allocate(byteSize, byteAlignment);
        if (address == 0) {
            return HostMemory.segment(0, 0, lifetime, null);
        }
        boolean isOwned = false;
        try {
            final MemorySegment segment = HostMemory.segment(
                    address, byteSize, lifetime, dead -> resource.deallocate(address, byteSize, byteAlignment));
            isOwned = true;
            return segment;
        } finally {
            if (!isOwned) {
                resource.deallocate(address, byteSize, byteAlignment);
            }
        }
    }

    @Override
    public MemorySegment.Scope scope() {
        return lifetime.scope();
    }

    @Override
    public void close() {
        lifetime.close();
    }

    @Override
    public String toString() {
        return "arena over " + resource;
    }
}
