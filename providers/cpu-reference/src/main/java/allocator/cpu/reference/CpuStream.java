package allocator.cpu.reference;

import allocator.spi.MemoryInfo;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * A stream of a device that has no queue: its work is the caller's own, and done when the call returns. A provider of a
 * device with queues keeps the shape and fills in the driver's calls.
 */
final class CpuStream extends SyncStream {
    private final Consumer<CpuStream> onRunEnd;
    private final Consumer<CpuStream> onClose;
    private final AtomicBoolean closed = new AtomicBoolean();

    /**
     * @param memory the memory that the stream orders
     * @param onRunEnd lets every stream use what was freed on this one
     * @param onClose ends every tie to this stream; told once
     */
    CpuStream(MemoryInfo memory, Consumer<CpuStream> onRunEnd, Consumer<CpuStream> onClose) {
        super(memory);
        this.onRunEnd = onRunEnd;
        this.onClose = onClose;
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
        requireOpen(); // and nothing is queued
    }

    @Override
    public void onSessionRunEnd() {
        flush();
        onRunEnd.accept(this);
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            setEnded();
            onClose.accept(this);
        }
    }

    private void requireOpen() {
        if (closed.get()) {
            throw new IllegalStateException(this + " is closed");
        }
    }

    boolean isClosed() {
        return closed.get();
    }

    /** A point that is always reached. */
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
