package allocator.cpu.reference;

import allocator.provider.support.StreamOwner;
import allocator.provider.support.internal.StreamUsers;
import allocator.spi.MemoryInfo;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A stream of a device without a queue: work is done by the caller, and complete when the call returns. A provider of a
 * device with queues keeps this shape and adds the driver's calls.
 */
final class CpuStream extends SyncStream {
    private final StreamOwner<CpuStream> owner;
    private final AtomicBoolean isClosed = new AtomicBoolean();

    private final StreamUsers<CpuArena> arenas;

    CpuStream(MemoryInfo memory, StreamOwner<CpuStream> owner) {
        super(memory);
        this.owner = owner;
        arenas = new StreamUsers<>(owner::isOpen);
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
            try {
                owner.workEnded(this);
            } finally {
                owner.closed(this);
            }
        }
    }

    /**
     * Records that an arena is about to allocate on this stream, so that the ends of runs and of this stream are
     * reported to it. If this method throws, the arena has to allocate nothing.
     */
    void usedBy(CpuArena arena) {
        arenas.add(arena);
    }

    /** Returns the arenas that have allocated on this stream and are open. */
    List<CpuArena> arenas() {
        return arenas.open();
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
