package allocator.resource;

import allocator.provider.support.Failures;
import allocator.provider.support.StackReserve;
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

    /** The blocks that may not be deallocated yet. Guarded by this object, and so are their addresses. */
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
        StackReserve.touch();
        final Block block = new Block(byteSize, byteAlignment);
        final long address = resource.allocate(byteSize, byteAlignment);
        if (address == 0) {
            return NativeMemory.segment(0, 0, lifetime, null);
        }
        add(block, address);
        boolean isOwned = false;
        try {
            final MemorySegment segment = NativeMemory.segment(address, byteSize, lifetime, null);
            isOwned = true;
            return segment.fill((byte) 0);
        } finally {
            if (!isOwned) {
                giveUp(block);
            }
        }
    }

    private synchronized void add(Block block, long address) {
        block.address = address;
        block.next = blocks;
        blocks = block;
    }

    private void giveUp(Block block) {
        try {
            deallocate(block);
        } catch (Throwable e) {
            // The failure of the allocation is the one to report; the close tries again.
        }
    }

    private void deallocate(Block block) {
        final long address = take(block);
        if (address == 0) {
            return;
        }
        boolean isLive = true;
        try {
            resource.deallocate(address, block.byteSize, block.byteAlignment);
            isLive = false;
        } catch (TakenBackException e) {
            isLive = false;
            throw e;
        } finally {
            if (isLive) {
                restore(block, address);
            }
        }
    }

    /** Takes the address of a block, so that only one thread deallocates it; 0 if there is nothing to do. */
    private synchronized long take(Block block) {
        final long address = block.address;
        block.address = 0;
        return address;
    }

    private synchronized void restore(Block block, long address) {
        block.address = address;
    }

    @Override
    public MemorySegment.Scope scope() {
        return lifetime.scope();
    }

    /**
     * Invalidates the segments and deallocates their memory. All is tried; the first failure is thrown at the end, and
     * another call deallocates what is left.
     *
     * @throws IllegalStateException if this arena is closed and nothing is left, or a segment is in use
     * @throws WrongThreadException if this arena is confined to another thread
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#deallocate(long, long, long)}
     */
    @Override
    public void close() {
        StackReserve.touch();
        if (lifetime.scope().isAlive() || takeAll(false) == null) {
            lifetime.close();
        }
        final Failures failure = new Failures();
        Block left = null;
        for (Block block = takeAll(true); block != null; ) {
            final Block next = block.next;
            try {
                deallocate(block);
            } catch (Throwable e) {
                failure.add(e);
                block.next = left;
                left = block;
            }
            block = next;
        }
        putBack(left);
        failure.throwIfAny();
    }

    /** Returns all blocks, and empties the list if they are to be deallocated. */
    private synchronized @Nullable Block takeAll(boolean isForGood) {
        final Block all = blocks;
        if (isForGood) {
            blocks = null;
        }
        return all;
    }

    private synchronized void putBack(@Nullable Block left) {
        Block rest = left;
        while (rest != null) {
            final Block next = rest.next;
            rest.next = blocks;
            blocks = rest;
            rest = next;
        }
    }

    @Override
    public String toString() {
        return "arena over " + resource;
    }
}
