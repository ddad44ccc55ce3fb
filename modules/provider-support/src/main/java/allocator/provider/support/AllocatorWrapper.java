package allocator.provider.support;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorStats;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InspectableAllocator;
import allocator.spi.MemoryInfo;
import allocator.spi.PagedReserves;
import allocator.spi.RemappableReserves;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.StreamAwareAllocator;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * An allocator around another one, for subclasses that count, check or record its blocks. It has those capabilities of
 * the contract that the wrapped allocator has, and is each of them itself, so that no call goes round it;
 * {@link PagedReserves} and {@link RemappableReserves}, which take and return no block, are passed on. A capability
 * that it does not know is not.
 *
 * <p>A subclass implements {@link #alloc}, {@link #reserve}, {@link #allocOnStream} and {@link #free}; every other call
 * is the wrapped allocator's.
 */
public abstract class AllocatorWrapper
        implements StreamAwareAllocator, ShrinkableAllocator, HostAccessibleAllocator, InspectableAllocator {
    private final Allocator target;
    private final @Nullable StreamAwareAllocator streamAware;
    private final @Nullable ShrinkableAllocator shrinkable;
    private final @Nullable HostAccessibleAllocator hostAccessible;
    private final @Nullable InspectableAllocator inspectable;

    /**
     * Wraps an allocator.
     *
     * @param target the allocator, which is asked for its capabilities here
     */
    protected AllocatorWrapper(Allocator target) {
        this.target = target;
        streamAware = target.as(StreamAwareAllocator.class).orElse(null);
        shrinkable = target.as(ShrinkableAllocator.class).orElse(null);
        hostAccessible = target.as(HostAccessibleAllocator.class).orElse(null);
        inspectable = target.as(InspectableAllocator.class).orElse(null);
    }

    @Override
    public final <T> Optional<T> as(Class<T> capability) {
        if (capability == PagedReserves.class || capability == RemappableReserves.class) {
            return target.as(capability);
        }
        return capability.isInstance(this) && target.as(capability).isPresent()
                ? Optional.of(capability.cast(this))
                : Optional.empty();
    }

    private <T> T require(@Nullable T capability) {
        if (capability == null) {
            throw new UnsupportedOperationException(target + " does not have this capability");
        }
        return capability;
    }

    /**
     * {@return the wrapped allocator as one that is aware of streams, for {@link #allocOnStream}}
     *
     * @throws UnsupportedOperationException if it is not aware of streams
     */
    protected final StreamAwareAllocator streamAware() {
        return require(streamAware);
    }

    @Override
    public boolean isOrderedByDevice() {
        return streamAware != null && streamAware.isOrderedByDevice();
    }

    @Override
    public ShrinkReport shrink() {
        return require(shrinkable).shrink();
    }

    @Override
    public MemorySegment segment(long address, long byteSize) {
        return require(hostAccessible).segment(address, byteSize);
    }

    @Override
    public AllocatorSnapshot inspect() {
        return require(inspectable).inspect();
    }

    @Override
    public MemoryInfo info() {
        return target.info();
    }

    @Override
    public int spiLevel() {
        return target.spiLevel();
    }

    @Override
    public AllocatorStats stats() {
        return target.stats();
    }

    @Override
    public AllocatorOptions effectiveOptions() {
        return target.effectiveOptions();
    }

    @Override
    public String toString() {
        return target.toString();
    }
}
