package allocator.simulation.world;

import allocator.simulation.schedule.Points;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.function.IntSupplier;

/** A stream whose waits are known to the model by its sync ids alone, and whose work may take some steps. */
class SimulatedStream extends SyncStream {
    private final Runnable deviceCall;

    /** Returns how many steps the work takes for which a call waits. */
    private final IntSupplier lag;

    /** Whether a close waits for work that takes steps. */
    private boolean isClosing;

    /** When this stream was flushed last, in what {@link Model#now} counts. */
    private long flushed;

    SimulatedStream() {
        this(() -> {});
    }

    /** Creates a stream of a device of which each call may fail. */
    SimulatedStream(Runnable deviceCall) {
        this(deviceCall, () -> 1);
    }

    private SimulatedStream(Runnable deviceCall, IntSupplier lag) {
        super(SimulatedDevice.INFO);
        this.deviceCall = deviceCall;
        this.lag = lag;
    }

    /** Creates a stream whose work takes steps during which other threads go on. */
    static SimulatedStream lagging(IntSupplier lag) {
        return new SimulatedStream(() -> {}, lag);
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
        if (isClosing) {
            throw new IllegalStateException(this + " is closed");
        }
        final long begun = Model.now();
        work();
        flushed = Math.max(flushed, begun);
    }

    private void work() {
        for (int steps = lag.getAsInt(); steps > 0; steps--) {
            Points.access();
        }
    }

    @Override
    public void onSessionRunEnd() {}

    /** Returns whether a thread closes this stream. */
    boolean isClosing() {
        return isClosing;
    }

    /** Closes this stream, and waits for its work as {@link #flush} does. Until then no other call waits for it. */
    void drainAndClose() {
        isClosing = true;
        work();
        close();
        isClosing = false;
    }

    @Override
    public void close() {
        setEnded();
    }
}
