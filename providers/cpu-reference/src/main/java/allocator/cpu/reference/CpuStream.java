package allocator.cpu.reference;

import allocator.provider.support.StackReserve;
import allocator.provider.support.StreamOwner;
import allocator.spi.MemoryInfo;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A stream of a device without a queue: work is done by the caller, and complete when the call returns. A provider of a
 * device with queues keeps this shape and adds the driver's calls.
 */
final class CpuStream extends SyncStream {
    private final StreamOwner<CpuStream> owner;
    private final AtomicBoolean isClosed = new AtomicBoolean();

    /** The arenas that have allocated on this stream. Guarded by itself. */
    private final Set<CpuArena> arenas = new HashSet<>(2);

    /** The one that did so last, for which nothing is to be done. */
    private volatile @Nullable CpuArena lastArena;

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
        StackReserve.touch();
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
        if (lastArena != arena) {
            add(arena);
        }
    }

    private void add(CpuArena arena) {
        StackReserve.touch();
        synchronized (arenas) {
            arenas.add(arena);
            lastArena = arena;
        }
    }

    /**
     * Returns the arenas that have allocated on this stream.
     *
     * @param isOpen whether an arena has references still; all others are forgotten
     */
    List<CpuArena> arenas(Predicate<CpuArena> isOpen) {
        StackReserve.touch();
        synchronized (arenas) {
            if (arenas.removeIf(isOpen.negate())) {
                lastArena = null;
            }
            return List.copyOf(arenas);
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
