package allocator.conformance.runner.simple;

import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/** A contiguous part of a region, live or free. A free chunk that a stream used is bound to it. */
final class SimpleChunk {
    final long region;
    final long address;
    long byteSize;
    boolean isLive;
    long requested;

    /** The stream that the chunk was allocated on, if any. */
    @Nullable
    SyncStream user;

    /** The stream whose queued work may still use the free chunk, if any. */
    @Nullable
    SyncStream boundTo;

    /** The sync id of that stream at the free. */
    long stamp;

    /** The thread that allocated the chunk. */
    Thread thread = Thread.currentThread();

    SimpleChunk(long region, long address, long byteSize) {
        this.region = region;
        this.address = address;
        this.byteSize = byteSize;
    }
}
