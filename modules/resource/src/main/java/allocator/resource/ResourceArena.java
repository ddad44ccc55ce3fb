package allocator.resource;

import allocator.resource.base.NativeMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Adapts a host-accessible resource to an {@link Arena} of the JDK, and so to a
 * {@link java.lang.foreign.SegmentAllocator}: the counterpart of the CUDA proposal's {@code pmr_adaptor}.
 *
 * <p>Closing the arena invalidates its segments and deallocates their memory. The bytes of a new segment are not
 * initialized. Live segments never overlap.
 */
public final class ResourceArena implements Arena {
    private final MemoryResource resource;
    private final Arena lifetime;

    private ResourceArena(MemoryResource resource, Arena lifetime) {
        this.resource = resource;
        this.lifetime = lifetime;
    }

    /**
     * Creates an arena confined to the calling thread.
     *
     * @param resource where the memory comes from
     * @return the arena, to be closed by the calling thread
     * @throws IllegalArgumentException if the host cannot access the resource's memory
     */
    public static ResourceArena ofConfined(MemoryResource resource) {
        return new ResourceArena(requireHostAccessible(resource), Arena.ofConfined());
    }

    /**
     * Creates an arena shared by all threads.
     *
     * @param resource where the memory comes from
     * @return the arena, to be closed by any thread
     * @throws IllegalArgumentException if the host cannot access the resource's memory
     */
    public static ResourceArena ofShared(MemoryResource resource) {
        return new ResourceArena(requireHostAccessible(resource), Arena.ofShared());
    }

    private static MemoryResource requireHostAccessible(MemoryResource resource) {
        if (!resource.kind().isHostAccessible()) {
            throw new IllegalArgumentException(
                    resource + " has " + resource.kind() + " memory, which the host cannot access");
        }
        return resource;
    }

    /**
     * Allocates a segment.
     *
     * @param byteSize size in bytes
     * @param byteAlignment alignment in bytes, a power of two
     * @return a segment of exactly {@code byteSize} bytes that is valid until this arena is closed
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#allocate(long, long)}
     * @throws IllegalStateException if this arena is closed
     * @throws WrongThreadException if this arena is confined to another thread
     */
    @Override
    public MemorySegment allocate(long byteSize, long byteAlignment) {
        final long address = resource.allocate(byteSize, byteAlignment);
        if (address == 0) {
            return NativeMemory.segment(0, 0, lifetime, null);
        }
        boolean isOwned = false;
        try {
            final MemorySegment segment = NativeMemory.segment(
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
