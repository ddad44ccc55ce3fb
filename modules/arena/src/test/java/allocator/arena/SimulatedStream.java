package allocator.arena;

import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;

/** A stream without a device: its work is always done. Flushes are counted and fail on demand. */
final class SimulatedStream extends SyncStream {
    private int flushes;
    private boolean isClosed;
    private boolean flushFails;

    SimulatedStream() {
        this(SimulatedDevice.INFO);
    }

    SimulatedStream(MemoryInfo memory) {
        super(memory);
    }

    /** A notification of everything so far, for {@code consumer} to wait for. */
    void notifyAndWait(SimulatedStream consumer) {
        final SyncNotification notification = createNotification();
        notification.activate();
        notification.waitOnDevice(consumer);
        notification.close();
    }

    void failFlush(boolean fails) {
        flushFails = fails;
    }

    int flushes() {
        return flushes;
    }

    @Override
    public long handle() {
        return 0;
    }

    @Override
    public SyncNotification createNotification() {
        return new SyncNotification(this) {
            @Override
            protected void record() {}

            @Override
            protected void enqueueWait(SyncStream consumer) {}

            @Override
            protected void await() {}

            @Override
            public void close() {}
        };
    }

    @Override
    public void flush() {
        if (isClosed) {
            throw new IllegalStateException(this + " is closed");
        }
        flushes++;
        if (flushFails) {
            throw new DeviceException("simulated failure of " + this, null);
        }
    }

    @Override
    public void onSessionRunEnd() {
        flush();
    }

    @Override
    public void close() {
        isClosed = true;
    }
}
