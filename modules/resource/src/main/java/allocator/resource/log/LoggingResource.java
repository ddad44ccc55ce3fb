package allocator.resource.log;

import allocator.resource.MemoryResource;
import allocator.resource.ResourceDecorator;
import allocator.resource.StackOrderException;
import allocator.resource.base.LiveTable;
import allocator.spi.InvalidFreeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * Reports every allocation and deallocation to a {@link ResourceLog}. Whatever the log throws is ignored. A
 * deallocation that failed, and after which the block is still live, is followed by a record of the block as if it were
 * allocated again. The sizes in the records are those of the allocations, also where a deallocation gives another one.
 */
public final class LoggingResource extends ResourceDecorator {
    private final ResourceLog log;

    /** The live blocks, each with its size. */
    private final LiveTable<Void> sizes = new LiveTable<>(false);

    /**
     * Decorates a resource.
     *
     * @param upstream the resource
     * @param log receives the calls
     * @throws StackOrderException if the upstream already writes to the same log
     */
    public LoggingResource(MemoryResource upstream, ResourceLog log) {
        super(upstream);
        requireNone(
                upstream,
                resource -> resource instanceof LoggingResource other && other.log.equals(log),
                "the same log is already written below and would show every address live twice; use one log each");
        this.log = log;
    }

    @Override
    protected long doAllocate(long byteSize, long byteAlignment, @Nullable SyncStream stream, boolean isReserve) {
        sizes.expect();
        long address = 0;
        try {
            address = allocateUpstream(byteSize, byteAlignment, stream, isReserve);
        } catch (OutOfMemoryException e) {
            failed(byteSize, stream);
            throw e;
        } finally {
            if (address == 0) {
                sizes.expectNoMore();
            }
        }
        if (address != 0) {
            sizes.add(address, byteSize, null);
        }
        allocated(address, byteSize, stream);
        return address;
    }

    private void failed(long byteSize, @Nullable SyncStream stream) {
        try {
            log.failed(byteSize, stream);
        } catch (Throwable e) {
            // The failure of the allocation is the one to report.
        }
    }

    private void allocated(long address, long byteSize, @Nullable SyncStream stream) {
        try {
            log.allocated(address, byteSize, stream);
        } catch (Throwable e) {
            // The caller has the memory, whether or not the log has a record of it.
        }
    }

    @Override
    protected void doDeallocate(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        final long recordedSize = sizes.take(address, -1);
        final long loggedSize = recordedSize < 0 ? byteSize : recordedSize;
        freed(address, loggedSize, stream);
        boolean isFreed = false;
        boolean isForeign = false;
        try {
            deallocateUpstream(address, byteSize, byteAlignment, stream);
            isFreed = true;
        } catch (InvalidFreeException e) {
            isForeign = true;
            throw e;
        } finally {
            if (recordedSize >= 0) {
                sizes.settle(address, recordedSize, null, isFreed || isForeign);
            }
            if (!isFreed && !isForeign) {
                allocated(address, loggedSize, stream);
            }
        }
    }

    private void freed(long address, long byteSize, @Nullable SyncStream stream) {
        try {
            log.freed(address, byteSize, stream);
        } catch (Throwable e) {
            // The memory goes back, whether or not the log has a record of it.
        }
    }
}
