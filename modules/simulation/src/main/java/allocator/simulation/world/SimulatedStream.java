package allocator.simulation.world;

import allocator.simulation.schedule.Points;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;

/** A stream whose waits are known to the model by its sync ids alone. */
class SimulatedStream extends SyncStream {
    private final Runnable deviceCall;

    /** When this stream was flushed last, in what {@link Model#now} counts. */
    private long flushed;

    SimulatedStream() {
        this(() -> {});
    }

    /** Creates a stream of a device of which each call may fail. */
    SimulatedStream(Runnable deviceCall) {
        super(SimulatedDevice.INFO);
        this.deviceCall = deviceCall;
    }

    /** Makes this stream wait for all work submitted to another one. */
    void waitFor(SyncStream producer) {
        try (SyncNotification notification = producer.createNotification()) {
            notification.activate();
            notification.waitOnDevice(this);
        }
    }

    @Override
    public long handle() {
        return id();
    }

    @Override
    public SyncNotification createNotification() {
        return new SyncNotification(this) {
            @Override
            protected void record() {
                deviceCall.run();
            }

            @Override
            protected void enqueueWait(SyncStream consumer) {
                deviceCall.run();
            }

            @Override
            protected void await() {
                deviceCall.run();
            }

            @Override
            public void close() {}
        };
    }

    /** Returns whether the work queued before a time is done, as a flush that began later has waited for it. */
    boolean isFlushedSince(long time) {
        return time <= flushed;
    }

    @Override
    public void flush() {
        final long begun = Model.now();
        Points.access();
        flushed = Math.max(flushed, begun);
    }

    @Override
    public void onSessionRunEnd() {}

    @Override
    public void close() {
        setEnded();
    }
}
