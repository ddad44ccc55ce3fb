package allocator.arena;

import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorStats;
import allocator.spi.InspectableAllocator;
import allocator.spi.MemoryInfo;
import allocator.spi.PagedReserves;
import allocator.spi.RemappableReserves;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import java.util.Objects;
import java.util.Optional;

/**
 * An arena as an allocator of the contract. Providers extend it where their memory has further capabilities, such as
 * host access. Safe for use by several threads.
 */
public class ArenaAllocator implements ShrinkableAllocator, InspectableAllocator {
    private final BfcArena arena;
    private final AllocatorOptions effectiveOptions;

    /**
     * Creates an allocator over an arena.
     *
     * @param arena the arena, which this allocator closes
     * @param effectiveOptions the effective options, {@linkplain AllocatorOptions#resolve resolved} for every key that
     *     {@linkplain ArenaOptions#applicable applies}
     */
    public ArenaAllocator(BfcArena arena, AllocatorOptions effectiveOptions) {
        this.arena = Objects.requireNonNull(arena, "arena");
        this.effectiveOptions = Objects.requireNonNull(effectiveOptions, "effectiveOptions");
    }

    /** {@return the underlying arena, for snapshots and statistics} */
    public final BfcArena arena() {
        return arena;
    }

    @Override
    public final long alloc(long byteSize) {
        return arena.alloc(byteSize);
    }

    @Override
    public final void free(long address) {
        arena.free(address);
    }

    @Override
    public final MemoryInfo info() {
        return arena.info();
    }

    @Override
    public final int spiLevel() {
        return SpiLevel.SHRINK;
    }

    @Override
    public final long reserve(long byteSize) {
        return arena.reserve(byteSize);
    }

    @Override
    public <T> Optional<T> as(Class<T> capability) {
        if (capability == RemappableReserves.class) {
            return arena.remappableReserves().map(capability::cast);
        }
        return capability == PagedReserves.class
                ? arena.pagedReserves().map(capability::cast)
                : ShrinkableAllocator.super.as(capability);
    }

    @Override
    public final AllocatorStats stats() {
        return arena.stats();
    }

    @Override
    public final AllocatorOptions effectiveOptions() {
        return effectiveOptions;
    }

    @Override
    public final ShrinkReport shrink() {
        return arena.shrink();
    }

    @Override
    public final AllocatorSnapshot inspect() {
        return arena.inspect();
    }

    /**
     * Returns all memory to the device, as {@link BfcArena#close} does. The provider calls it when the last reference
     * is released.
     *
     * @return what was still live
     */
    public final CloseReport close() {
        return arena.close();
    }
}
