package allocator.cuda.memory;

import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaStreams;
import allocator.cuda.memory.check.StreamChecks;
import allocator.provider.support.UseGuard;
import allocator.provider.support.internal.Endings;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/** A CUDA event of a stream. */
final class CudaNotification extends SyncNotification {
    private final CudaSyncStream producer;
    private final CudaStreams streams;
    private final int ordinal;
    private final UseGuard guard = new UseGuard();
    private final Endings.End end;
    private final long event;
    private volatile StreamChecks.@Nullable StreamPoint point;
    private boolean isDestroyed;

    /**
     * @param producer the stream, in use by the caller
     * @throws CudaException if there is no event to be had
     */
    CudaNotification(CudaSyncStream producer) {
        super(producer);
        this.producer = producer;
        streams = producer.device().driver().streams();
        ordinal = producer.device().ordinal();
        end = producer.device().endings().of(this::end);
        event = streams.eventCreate(ordinal);
    }

    @Override
    protected void record() {
        producer.use();
        try {
            final StreamChecks.@Nullable StreamPoint reached = producer.checks().point(producer);
            withEvent(() -> {
                producer.requireReady("activate; end the capture first");
                streams.eventRecord(ordinal, event, producer.handle());
            });
            point = reached;
        } finally {
            producer.endUse();
        }
    }

    @Override
    protected void enqueueWait(SyncStream consumer) {
        if (!(consumer instanceof CudaSyncStream stream)) {
            await(); // work that is submitted there from now on comes later in any case
            return;
        }
        stream.use();
        try {
            final StreamChecks.@Nullable StreamPoint reached = point;
            withEvent(() -> {
                stream.requireReady("wait for " + producer + "; end the capture first");
                streams.streamWaitEvent(stream.device().ordinal(), stream.handle(), event);
            });
            stream.checks().follow(stream, reached);
        } finally {
            stream.endUse();
        }
    }

    @Override
    protected void await() {
        final StreamChecks.@Nullable StreamPoint reached = point;
        withEvent(() -> streams.eventSynchronize(ordinal, event));
        producer.checks().done(reached);
    }

    private void withEvent(Runnable call) {
        if (!guard.tryEnter()) {
            throw new IllegalStateException("the notification of " + producer + " is closed");
        }
        try {
            call.run();
        } catch (CudaException e) {
            throw DriverCalls.deviceException(e);
        } finally {
            guard.exit();
        }
    }

    /** Destroys the event. If the driver fails, another call and the close of the factory try again. */
    @Override
    public void close() {
        guard.close();
        end.run();
    }

    private void end() {
        synchronized (guard) {
            if (!isDestroyed) {
                final DriverCalls.All calls = new DriverCalls.All();
                isDestroyed = calls.insist(() -> streams.eventDestroy(ordinal, event));
                calls.throwIfFailed();
            }
        }
    }
}
