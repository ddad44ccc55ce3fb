package allocator.conformance.runner.simple;

import allocator.spi.MemoryInfo;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Consumer;
import java.util.function.ObjLongConsumer;

/** A queue of copies. While the device lags, a copy runs only when something waits for it. */
final class SimpleStream extends SyncStream {
    private final SimpleDevice device;
    private final long handle;
    private final ObjLongConsumer<SimpleStream> onSynchronized;
    private final Consumer<SimpleStream> onClosed;
    private final Deque<Runnable> queue = new ArrayDeque<>();
    private long submitted;
    private long done;
    private boolean isClosed;

    SimpleStream(
            MemoryInfo memory,
            SimpleDevice device,
            long handle,
            ObjLongConsumer<SimpleStream> onSynchronized,
            Consumer<SimpleStream> onClosed) {
        super(memory);
        this.device = device;
        this.handle = handle;
        this.onSynchronized = onSynchronized;
        this.onClosed = onClosed;
    }

    void submit(Runnable work) {
        synchronized (device) {
            requireOpen();
            queue.add(work);
            submitted++;
            if (!device.isLagging()) {
                finish(submitted);
            }
        }
    }

    /** Runs the queue up to a point. */
    void finish(long point) {
        synchronized (device) {
            while (done < point) {
                done++;
                queue.remove().run();
            }
        }
    }

    long point() {
        synchronized (device) {
            return submitted;
        }
    }

    boolean isClosed() {
        synchronized (device) {
            return isClosed;
        }
    }

    private void requireOpen() {
        if (isClosed()) {
            throw new IllegalStateException(this + " is closed");
        }
    }

    @Override
    public long handle() {
        return handle;
    }

    @Override
    public SyncNotification createNotification() {
        requireOpen();
        return new Event(this);
    }

    @Override
    public void flush() {
        requireOpen();
        device.call();
        finish(point());
    }

    @Override
    public void onSessionRunEnd() {
        requireOpen();
        final Event end = new Event(this);
        end.activate();
        final long endId = syncId(); // what is freed from here on has this stamp, and may be in use by later work
        end.waitOnHost();
        onSynchronized.accept(this, endId);
    }

    @Override
    public void close() {
        synchronized (device) {
            if (isClosed) {
                return;
            }
            finish(point());
            isClosed = true;
        }
        onClosed.accept(this);
    }

    /** Lets other streams know that this one has ended. */
    void end() {
        setEnded();
    }

    /** A point in the queue. */
    private static final class Event extends SyncNotification {
        private final SimpleStream producer;
        private long point;

        Event(SimpleStream producer) {
            super(producer);
            this.producer = producer;
        }

        @Override
        protected void record() {
            producer.device.call();
            point = producer.point();
        }

        @Override
        protected void enqueueWait(SyncStream consumer) {
            producer.device.call();
            final long until = point;
            ((SimpleStream) consumer).submit(() -> producer.finish(until));
        }

        @Override
        protected void await() {
            producer.finish(point);
        }

        @Override
        public void close() {
            // A point needs nothing from the device.
        }
    }
}
