package allocator.bench.subject;

import allocator.spi.MemoryInfo;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;

/** A stream without work, which no other stream waits for: its memory stays its own. */
public final class IdleStream extends SyncStream {
    /** Creates a stream of the device of a memory. */
    public IdleStream(MemoryInfo memory) {
        super(memory);
    }

    @Override
    public long handle() {
        return 1;
    }

    @Override
    public SyncNotification createNotification() {
        throw new UnsupportedOperationException("no stream waits for this one");
    }

    @Override
    public void flush() {}

    @Override
    public void onSessionRunEnd() {}

    @Override
    public void close() {}
}
