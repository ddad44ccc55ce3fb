package allocator.cpu.reference;

import allocator.provider.support.StreamOwner;
import allocator.spi.MemoryInfo;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A stream of a device without a queue: work is done by the caller, and complete when the call returns. A provider of a
 * device with queues keeps this shape and adds the driver's calls.
 */
final class CpuStream extends SyncStream {
    private final StreamOwner<CpuStream> owner;
    private final AtomicBoolean isClosed = new AtomicBoolean();

    CpuStream(MemoryInfo memory, StreamOwner<CpuStream> owner) {
        super(memory);
        this.owner = owner;
    }

    @Override
    public long handle() {
        return 0;
    }

    @Override
    public SyncNotification createNotification() {
        requireOpen();
        return new CpuNotification(this);
    }

    @Override
    public void flush() {
        requireOpen(); // nothing is queued
    }

    @Override
    public void onSessionRunEnd() {
        flush();
        owner.runEnded(this);
    }

    @Override
    public void close() {
        if (isClosed.compareAndSet(false, true)) {
            setEnded();
            owner.workEnded(this);
            owner.closed(this);
        }
    }

    private void requireOpen() {
        if (isClosed.get()) {
            throw new IllegalStateException(this + " is closed");
        }
    }

    boolean isClosed() {
        return isClosed.get();
    }

    /** A point that every stream has always reached. */
    private static final class CpuNotification extends SyncNotification {
        CpuNotification(CpuStream stream) {
            super(stream);
        }

        @Override
        protected void record() {}

        @Override
        protected void enqueueWait(SyncStream consumer) {}

        @Override
        protected void await() {}

        @Override
        public void close() {}
    }
}
