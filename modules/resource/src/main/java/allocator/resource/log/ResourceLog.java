package allocator.resource.log;

import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * Receives the calls of a {@link LoggingResource}. Thread-safe. Its methods never throw: a record that cannot be
 * written is dropped and counted, so logging cannot break what it observes.
 */
public interface ResourceLog {
    /**
     * Reports an allocation, after it succeeded.
     *
     * @param address its address
     * @param byteSize size in bytes
     * @param stream the stream that ordered it, {@code null} for none
     */
    void allocated(long address, long byteSize, @Nullable SyncStream stream);

    /**
     * Reports an allocation that failed.
     *
     * @param byteSize size in bytes
     * @param stream the stream that would have ordered it, {@code null} for none
     */
    void failed(long byteSize, @Nullable SyncStream stream);

    /**
     * Reports a deallocation, before it happens, so that a log never shows an address live twice.
     *
     * @param address its address
     * @param byteSize size in bytes
     * @param stream the stream that orders it, {@code null} for none
     */
    void freed(long address, long byteSize, @Nullable SyncStream stream);

    /** {@return how many records could not be written} */
    long droppedRecords();
}
