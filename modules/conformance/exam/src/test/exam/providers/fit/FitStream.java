package exam.fit;

import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.ArrayDeque;

/**
 * A queue of work of a simulated device. A virtual thread does the work while there is some. A ticket is the number of
 * tasks that were submitted before a moment; it is done when they are.
 */
final class FitStream extends SyncStream {
    private final Factory factory;

    /** Guarded by this, as is all that follows. */
    private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();

    private long submitted;
    private long completed;
    private boolean isRunning;
    private boolean isClosed;
    private Throwable failure;

    FitStream(MemoryInfo memory, Factory factory) {
        super(memory);
        this.factory = factory;
    }

    Factory factory() {
        return factory;
    }

    synchronized boolean isClosed() {
        return isClosed;
    }

    /** Queues a task behind all that were submitted before. */
    synchronized void submit(Runnable task) {
        requireOpen();
        tasks.addLast(task);
        boolean isQueued = isRunning;
        try {
            if (!isRunning) {
                Thread.ofVirtual().start(this::work);
                isRunning = true;
                isQueued = true;
            }
        } finally {
            if (isQueued) {
                submitted++;
            } else {
                tasks.removeLast();
            }
        }
    }

    private void work() {
        for (Runnable task = nextTask(); task != null; task = nextTask()) {
            Throwable thrown = null;
            try {
                task.run();
            } catch (Throwable e) {
                thrown = e;
            }
            complete(thrown);
        }
    }

    private synchronized Runnable nextTask() {
        final Runnable task = tasks.pollFirst();
        isRunning = task != null;
        return task;
    }

    private synchronized void complete(Throwable thrown) {
        completed++;
        if (failure == null) {
            failure = thrown;
        }
        notifyAll();
    }

    /** Returns the ticket of this moment. */
    synchronized long ticket() {
        return submitted;
    }

    synchronized boolean isDone(long ticket) {
        return completed >= ticket;
    }

    /** Waits until a ticket is done. An interrupt does not end the wait and stays pending. */
    synchronized void await(long ticket) {
        boolean isInterrupted = false;
        while (completed < ticket) {
            try {
                wait();
            } catch (InterruptedException e) {
                isInterrupted = true;
            }
        }
        if (isInterrupted) {
            Thread.currentThread().interrupt();
        }
    }

    synchronized void requireOpen() {
        if (isClosed) {
            throw new IllegalStateException(this + " is closed");
        }
    }

    private synchronized void requireSuccess() {
        if (failure != null) {
            throw new DeviceException("work of " + this + " failed", failure);
        }
    }

    @Override
    public long handle() {
        return id();
    }

    @Override
    public SyncNotification createNotification() {
        requireOpen();
        return new Point(this);
    }

    @Override
    public void flush() {
        requireOpen();
        await(ticket());
        requireSuccess();
    }

    @Override
    public void onSessionRunEnd() {
        requireOpen();
        final long ticket = ticket();
        await(ticket);
        requireSuccess();
        factory.runEnded(this, ticket);
    }

    @Override
    public void close() {
        synchronized (this) {
            if (isClosed) {
                return;
            }
            isClosed = true;
        }
        await(ticket());
        setEnded();
        factory.streamEnded(this);
    }

    /** A point in the work of a stream. */
    private static final class Point extends SyncNotification {
        private final FitStream stream;
        private volatile long ticket;

        Point(FitStream stream) {
            super(stream);
            this.stream = stream;
        }

        @Override
        protected void record() {
            stream.requireOpen();
            ticket = stream.ticket();
        }

        @Override
        protected void enqueueWait(SyncStream consumer) {
            if (!(consumer instanceof FitStream other) || other.factory != stream.factory) {
                throw new IllegalArgumentException(consumer + " cannot wait for " + stream);
            }
            final long point = ticket;
            other.requireOpen();
            if (other != stream && !stream.isDone(point)) {
                other.submit(() -> stream.await(point));
            }
        }

        @Override
        protected void await() {
            stream.await(ticket);
            stream.requireSuccess();
        }

        @Override
        public void close() {
            // There is nothing to release.
        }
    }
}
