package allocator.resource;

import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * Is told what a {@link LoggingResource} sees. Safe for use by several threads. A log never fails: what it cannot keep
 * it drops and counts, so that logging cannot break what it watches.
 */
public interface ResourceLog {
    /**
     * Memory was allocated; told after the fact.
     *
     * @param address its address
     * @param byteSize size in bytes
     * @param stream the stream that ordered it, {@code null} for none
     */
    void allocated(long address, long byteSize, @Nullable SyncStream stream);

    /**
     * An allocation failed.
     *
     * @param byteSize size in bytes
     * @param stream the stream that would have ordered it, {@code null} for none
     */
    void failed(long byteSize, @Nullable SyncStream stream);

    /**
     * Memory is about to be deallocated; told before the fact, so that no log shows an address live twice.
     *
     * @param address its address
     * @param byteSize size in bytes
     * @param stream the stream that orders it, {@code null} for none
     */
    void freed(long address, long byteSize, @Nullable SyncStream stream);

    /**
     * What could not be kept.
     *
     * @return number of dropped records
     */
    long droppedRecords();
}
