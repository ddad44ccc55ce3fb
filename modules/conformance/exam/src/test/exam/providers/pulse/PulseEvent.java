package exam.pulse;

import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;

/** A point in a queue: the number of commands before it. */
final class PulseEvent extends SyncNotification {
    private final PulseStream producer;
    private volatile long point;
    private volatile boolean isClosed;

    PulseEvent(PulseStream producer) {
        super(producer);
        this.producer = producer;
    }

    @Override
    protected void record() {
        requireOpen();
        producer.requireOpen();
        point = producer.submitted();
    }

    @Override
    protected void enqueueWait(SyncStream consumer) {
        requireOpen();
        final PulseStream waiting = producer.factory().requireStream(consumer, producer.ordinal());
        final long awaited = point;
        waiting.submit(() -> producer.await(awaited));
    }

    @Override
    protected void await() {
        requireOpen();
        producer.await(point);
    }

    private void requireOpen() {
        if (isClosed) {
            throw new IllegalStateException("the notification of " + producer + " is closed");
        }
    }

    @Override
    public void close() {
        isClosed = true;
    }
}
