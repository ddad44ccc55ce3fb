package allocator.trace;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InvalidFreeException;
import allocator.spi.MemoryInfo;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * An allocator whose allocations and frees a {@link Recorder} records. It implements the same optional interfaces as
 * the wrapped allocator: there is one subclass for each combination of them.
 */
class RecordedAllocator implements Allocator {
    private final Recorder recorder;
    private final Allocator target;

    /** The slot of each live block by its address; guarded by the recorder's lock. */
    private final LongIntMap slots = new LongIntMap();

    RecordedAllocator(Recorder recorder, Allocator target) {
        this.recorder = recorder;
        this.target = target;
    }

    static RecordedAllocator of(Recorder recorder, Allocator target) {
        final int abilities = (target instanceof StreamAwareAllocator ? 4 : 0)
                + (target instanceof ShrinkableAllocator ? 2 : 0)
                + (target instanceof HostAccessibleAllocator ? 1 : 0);
        return switch (abilities) {
            case 1 -> new Host(recorder, target);
            case 2 -> new Shrinks(recorder, target);
            case 3 -> new ShrinksHost(recorder, target);
            case 4 -> new Streams(recorder, target);
            case 5 -> new StreamsHost(recorder, target);
            case 6 -> new StreamsShrinks(recorder, target);
            case 7 -> new StreamsShrinksHost(recorder, target);
            default -> new RecordedAllocator(recorder, target);
        };
    }

    /** Forwards allocations on streams. */
    private interface OnStreams extends StreamAwareAllocator {
        RecordedAllocator recorded();

        @Override
        default long allocOnStream(long byteSize, SyncStream stream) {
            // Both before the allocation, after which nothing may fail.
            final RecordedAllocator recorded = recorded();
            final long streamId = stream.id();
            final long address = ((StreamAwareAllocator) recorded.target).allocOnStream(byteSize, stream);
            return recorded.allocated(address, byteSize, streamId, false);
        }

        @Override
        default boolean isOrderedByDevice() {
            return ((StreamAwareAllocator) recorded().target).isOrderedByDevice();
        }
    }

    /** Forwards shrinks. */
    private interface Shrinkable extends ShrinkableAllocator {
        RecordedAllocator recorded();

        @Override
        default ShrinkReport shrink() {
            return ((ShrinkableAllocator) recorded().target).shrink();
        }
    }

    /** Forwards memory segments. */
    private interface Accessible extends HostAccessibleAllocator {
        RecordedAllocator recorded();

        @Override
        default MemorySegment segment(long address, long byteSize) {
            return ((HostAccessibleAllocator) recorded().target).segment(address, byteSize);
        }
    }

    private static final class Host extends RecordedAllocator implements Accessible {
        Host(Recorder recorder, Allocator target) {
            super(recorder, target);
        }
    }

    private static final class Shrinks extends RecordedAllocator implements Shrinkable {
        Shrinks(Recorder recorder, Allocator target) {
            super(recorder, target);
        }
    }

    private static final class ShrinksHost extends RecordedAllocator implements Shrinkable, Accessible {
        ShrinksHost(Recorder recorder, Allocator target) {
            super(recorder, target);
        }
    }

    private static final class Streams extends RecordedAllocator implements OnStreams {
        Streams(Recorder recorder, Allocator target) {
            super(recorder, target);
        }
    }

    private static final class StreamsHost extends RecordedAllocator implements OnStreams, Accessible {
        StreamsHost(Recorder recorder, Allocator target) {
            super(recorder, target);
        }
    }

    private static final class StreamsShrinks extends RecordedAllocator implements OnStreams, Shrinkable {
        StreamsShrinks(Recorder recorder, Allocator target) {
            super(recorder, target);
        }
    }

    private static final class StreamsShrinksHost extends RecordedAllocator
            implements OnStreams, Shrinkable, Accessible {
        StreamsShrinksHost(Recorder recorder, Allocator target) {
            super(recorder, target);
        }
    }

    /** Returns this object, for the interfaces that forward operations. */
    public RecordedAllocator recorded() {
        return this;
    }

    @Override
    public long alloc(long byteSize) {
        return allocated(target.alloc(byteSize), byteSize, 0, false);
    }

    @Override
    public long reserve(long byteSize) {
        return allocated(target.reserve(byteSize), byteSize, 0, true);
    }

    private long allocated(long address, long byteSize, long streamId, boolean isReserve) {
        if (address != 0) {
            try {
                recorder.allocated(slots, address, byteSize, streamId, isReserve);
            } catch (Throwable e) {
                // The caller must learn the address, even if the heap or the stack ends here.
                recorder.failure = e;
            }
        }
        return address;
    }

    @Override
    public void free(long address) {
        Recorder.@Nullable Freed freed = null;
        try {
            freed = recorder.freeing(slots, address);
        } catch (Throwable e) {
            recorder.failure = e;
        }
        boolean isLive = true;
        try {
            target.free(address);
            isLive = false;
        } catch (DeviceException | InvalidFreeException e) {
            isLive = false;
            throw e;
        } finally {
            if (isLive && freed != null) {
                try {
                    recorder.restore(slots, address, freed);
                } catch (Throwable e) {
                    recorder.failure = e;
                }
            }
        }
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
        return target + ", recorded";
    }
}
