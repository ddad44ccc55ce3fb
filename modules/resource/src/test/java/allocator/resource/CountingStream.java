package allocator.resource;

import allocator.spi.MemoryInfo;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;

/** A stream without a device that counts what is asked of it. */
public class CountingStream extends SyncStream {
    private int flushes;
    private int waits;

    public CountingStream(MemoryInfo memory) {
        super(memory);
    }

    public int flushes() {
        return flushes;
    }

    public int waits() {
        return waits;
    }

    @Override
    public long handle() {
        return 0x100 + id();
    }

    @Override
    public SyncNotification createNotification() {
        return new SyncNotification(this) {
            @Override
            protected void record() {}

            @Override
            protected void enqueueWait(SyncStream consumer) {
                ((CountingStream) consumer).waits++;
            }

            @Override
            protected void await() {}

            @Override
            public void close() {}
        };
    }

    @Override
    public void flush() {
        flushes++;
    }

    @Override
    public void onSessionRunEnd() {
        flush();
    }

    @Override
    public void close() {}
}
