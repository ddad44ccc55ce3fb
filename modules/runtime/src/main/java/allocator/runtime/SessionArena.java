package allocator.runtime;

import allocator.provider.support.internal.Failures;
import allocator.provider.support.internal.NativeAccess;
import allocator.spi.OutOfMemoryException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicLong;

/** An arena of the JDK whose memory is a session's: one block for each segment, freed at the close. */
final class SessionArena implements Arena {
    private final ManagedAllocator allocator;
    private final Arena lifetime;

    /**
     * Creates an arena.
     *
     * @param allocator where the memory comes from; the host can reach it
     * @param lifetime of the segments; this arena closes it
     * @throws IllegalStateException if this module has no native access, which a segment's lifetime needs
     */
    SessionArena(ManagedAllocator allocator, Arena lifetime) {
        this.allocator = allocator;
        this.lifetime = lifetime;
        try {
            empty();
        } catch (IllegalCallerException e) {
            throw NativeAccess.explain("an arena of a session", SessionArena.class, e);
        }
    }

    @SuppressWarnings("restricted") // no bytes
    private MemorySegment empty() {
        return MemorySegment.NULL.reinterpret(0, lifetime, null);
    }

    /**
     * Allocates a segment, whose bytes are 0.
     *
     * @throws OutOfMemoryException if the limit or the device cannot satisfy the request
     */
    @Override
    @SuppressWarnings("restricted") // the block is this arena's until its lifetime ends
    public MemorySegment allocate(long byteSize, long byteAlignment) {
        if (byteSize < 0 || byteAlignment <= 0 || Long.bitCount(byteAlignment) != 1) {
            throw new IllegalArgumentException("cannot allocate " + byteSize + " bytes with alignment " + byteAlignment
                    + ": the size is at least 0, and the alignment a power of two");
        }
        if (byteSize == 0) {
            return empty();
        }
        final long padding = Math.max(0, byteAlignment - allocator.info().byteAlignment());
        final long held = byteSize > Long.MAX_VALUE - padding ? Long.MAX_VALUE : byteSize + padding;
        final AtomicLong block = new AtomicLong();
        block.set(allocator.alloc(held));
        final MemorySegment segment;
        try {
            final long address = block.get();
            final long offset = -address & (byteAlignment - 1);
            segment = allocator
                    .segment(address, held)
                    .asSlice(offset, byteSize)
                    .reinterpret(lifetime, ignored -> free(block));
        } catch (Throwable e) {
            // The lifetime may have the action already: whichever comes first frees the block.
            try {
                free(block);
            } catch (Throwable again) {
                Failures.suppress(e, again);
            }
            throw e;
        }
        return segment.fill((byte) 0);
    }

    private void free(AtomicLong block) {
        final long address = block.getAndSet(0);
        if (address != 0) {
            allocator.free(address);
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
        return "arena of " + allocator;
    }
}
