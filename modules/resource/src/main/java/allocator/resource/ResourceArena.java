package allocator.resource;

import allocator.provider.support.internal.Failures;
import allocator.resource.base.NativeMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Adapts a host-accessible resource to an {@link Arena} of the JDK, and so to a
 * {@link java.lang.foreign.SegmentAllocator}: the counterpart of the CUDA proposal's {@code pmr_adaptor}.
 *
 * <p>Closing the arena invalidates its segments and deallocates their memory. The bytes of a new segment are 0, as with
 * the JDK's own arenas. Live segments never overlap.
 *
 * <p>{@link allocator.resource.budget.BudgetResource#arena} makes one with a limit.
 */
public final class ResourceArena implements Arena {
    private final MemoryResource resource;
    private final Arena lifetime;

    /** The blocks that are not deallocated yet. Guarded by this object. */
    private @Nullable Block blocks;

    /** A block, made before its memory is allocated. */
    private static final class Block {
        private final long byteSize;
        private final long byteAlignment;
        private long address;
        private @Nullable Block next;

        Block(long byteSize, long byteAlignment) {
            this.byteSize = byteSize;
            this.byteAlignment = byteAlignment;
        }
    }

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
     * Allocates a segment, and sets its bytes to 0.
     *
     * @param byteSize size in bytes, may be 0
     * @param byteAlignment alignment in bytes, a power of two
     * @return a segment of exactly {@code byteSize} bytes that is valid until this arena is closed
     * @throws IllegalArgumentException if the size is negative, or the alignment is no power of two
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#allocate(long, long)}
     * @throws IllegalStateException if this arena is closed
     * @throws WrongThreadException if this arena is confined to another thread
     */
    @Override
    public MemorySegment allocate(long byteSize, long byteAlignment) {
        if (byteSize < 0 || Long.bitCount(byteAlignment) != 1 || byteAlignment < 0) {
            throw new IllegalArgumentException("cannot allocate " + byteSize + " bytes with alignment " + byteAlignment
                    + ": the size is at least 0, and the alignment a power of two");
        }
        final Block block = new Block(byteSize, byteAlignment);
        block.address = resource.allocate(byteSize, byteAlignment);
        if (block.address == 0) {
            return NativeMemory.segment(0, 0, lifetime, null);
        }
        add(block);
        MemorySegment segment = null;
        try {
            segment = NativeMemory.segment(block.address, byteSize, lifetime, null);
        } finally {
            if (segment == null && remove(block)) {
                deallocate(block);
            }
        }
        return segment.fill((byte) 0);
    }

    private synchronized void add(Block block) {
        block.next = blocks;
        blocks = block;
    }

    /** Removes a block from the list; returns false if a close has taken it. */
    private synchronized boolean remove(Block block) {
        if (block == blocks) {
            blocks = block.next;
            return true;
        }
        Block previous = blocks;
        while (previous != null && previous.next != block) {
            previous = previous.next;
        }
        if (previous != null) {
            previous.next = block.next;
        }
        return previous != null;
    }

    private void deallocate(Block block) {
        resource.deallocate(block.address, block.byteSize, block.byteAlignment);
    }

    @Override
    public MemorySegment.Scope scope() {
        return lifetime.scope();
    }

    /**
     * Invalidates the segments and deallocates their memory. All is tried; if the resource rejects a deallocation, the
     * first failure is thrown at the end, and another call deallocates the remaining blocks.
     *
     * @throws IllegalStateException if this arena is closed and nothing is left, or a segment is in use
     * @throws WrongThreadException if this arena is confined to another thread
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#deallocate(long, long, long)}
     */
    @Override
    public void close() {
        if (lifetime.scope().isAlive() || isEmpty()) {
            lifetime.close();
        }
        final Failures failures = new Failures();
        Block next;
        for (Block block = takeAll(); block != null; block = next) {
            next = block.next;
            try {
                deallocate(block);
            } catch (Throwable e) {
                failures.add(e);
                add(block);
            }
        }
        failures.throwIfAny();
    }

    private synchronized boolean isEmpty() {
        return blocks == null;
    }

    private synchronized @Nullable Block takeAll() {
        final Block all = blocks;
        blocks = null;
        return all;
    }

    @Override
    public String toString() {
        return "arena over " + resource;
    }
}
