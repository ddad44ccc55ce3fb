package allocator.trace;

import allocator.provider.support.AllocatorWrapper;
import allocator.spi.Allocator;
import allocator.spi.InvalidFreeException;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/** An allocator whose allocations and frees a {@link Recorder} records. */
final class RecordedAllocator extends AllocatorWrapper {
    private final Recorder recorder;
    private final Allocator target;

    /** The slot of each live block by its address; guarded by the recorder's lock. */
    private final LongIntMap slots = new LongIntMap();

    RecordedAllocator(Recorder recorder, Allocator target) {
        super(target);
        this.recorder = recorder;
        this.target = target;
    }

    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        // Before the allocation, after which nothing may fail.
        final long streamId = stream.id();
        return allocated(streamAware().allocOnStream(byteSize, stream), byteSize, streamId, false);
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
                // The caller must learn the address, even if the heap ends here.
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
        boolean isFreed = false;
        try {
            target.free(address);
            isFreed = true;
        } catch (InvalidFreeException e) {
            isFreed = true; // the recorder knew the block, and the target does not
            throw e;
        } finally {
            if (!isFreed && freed != null) {
                restore(address, freed);
            }
        }
    }

    private void restore(long address, Recorder.Freed freed) {
        try {
            recorder.restore(slots, address, freed);
        } catch (Throwable e) {
            recorder.failure = e;
        }
    }

    @Override
    public String toString() {
        return target + ", recorded";
    }
}
