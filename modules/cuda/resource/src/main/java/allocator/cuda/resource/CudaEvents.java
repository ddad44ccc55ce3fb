package allocator.cuda.resource;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaStreams;
import allocator.cuda.memory.CudaSyncStream;
import allocator.cuda.memory.check.StreamChecks;
import allocator.cuda.memory.check.Submission;
import allocator.provider.support.UseGuard;
import allocator.resource.tracked.Access;
import allocator.resource.tracked.StreamEvents;
import allocator.spi.AllocatorClosedException;
import allocator.spi.DeviceException;
import allocator.spi.SyncStream;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The events of one device's streams. Released events are reused. A {@link SyncStream} passed here must have the
 * driver's stream as its handle.
 */
public final class CudaEvents implements StreamEvents, AutoCloseable {
    private final CudaStreams streams;
    private final int device;
    private final Object lock = new Object();

    /** Keeps a close from running beside a call that creates an event or puts one back. */
    private final UseGuard guard = new UseGuard();

    /** The released events, with room for all events that there are, so that a release cannot fail. */
    private long[] idle = new long[16];

    /** What the recorded events follow, while streams are checked. */
    private final Map<Long, StreamChecks.StreamPoint> points = new ConcurrentHashMap<>();

    private int idleCount;
    private int eventCount;
    private boolean isClosed;

    /**
     * Creates a source without events.
     *
     * @param driver the driver
     * @param device the device's ordinal; its primary context must be retained
     */
    public CudaEvents(CudaDriver driver, int device) {
        this.streams = driver.streams();
        this.device = device;
    }

    /**
     * {@inheritDoc}
     *
     * @throws AllocatorClosedException if this source is closed; the events recorded before can be used and released
     */
    @Override
    public long record(SyncStream stream) {
        guard.enter(this);
        try {
            if (stream instanceof CudaSyncStream own && !own.tryUse()) {
                throw new IllegalStateException(stream + " is closed");
            }
            return recordOn(stream);
        } finally {
            guard.exit();
        }
    }

    /** Records on a stream that is in use. */
    private long recordOn(SyncStream stream) {
        try {
            final long handle = CudaCalls.handle(stream, streams, device, "event");
            final StreamChecks.@Nullable StreamPoint point =
                    stream instanceof CudaSyncStream own ? own.checks().point(own) : null;
            final long event = idleOrNew();
            boolean isRecorded = false;
            try {
                if (point != null) {
                    points.put(event, point);
                }
                streams.eventRecord(device, event, handle);
                isRecorded = true;
            } finally {
                if (!isRecorded) {
                    forgetPoint(event);
                    putBack(event);
                }
            }
            return event;
        } catch (CudaException e) {
            throw CudaCalls.failure(e);
        } finally {
            if (stream instanceof CudaSyncStream own) {
                own.endUse();
            }
        }
    }

    private long idleOrNew() {
        synchronized (lock) {
            if (idleCount > 0) {
                return idle[--idleCount];
            }
            if (eventCount == idle.length) {
                idle = Arrays.copyOf(idle, 2 * eventCount);
            }
            eventCount++;
        }
        boolean isCreated = false;
        try {
            final long event = streams.eventCreate(device);
            isCreated = true;
            return event;
        } finally {
            if (!isCreated) {
                forget();
            }
        }
    }

    private void forget() {
        synchronized (lock) {
            eventCount--;
        }
    }

    private void putBack(long event) {
        synchronized (lock) {
            idle[idleCount++] = event;
        }
    }

    @Override
    public void await(SyncStream stream, long event) {
        try {
            streams.streamWaitEvent(device, CudaCalls.handle(stream, streams, device, "wait for an event"), event);
            if (!points.isEmpty() && stream instanceof CudaSyncStream own) {
                own.checks().follow(own, points.get(event));
            }
        } catch (CudaException e) {
            throw CudaCalls.failure(e);
        }
    }

    @Override
    public boolean isDone(long event) {
        try {
            return isDone(event, streams.eventQuery(device, event));
        } catch (CudaException e) {
            throw CudaCalls.failure(e);
        }
    }

    private boolean isDone(long event, boolean isDone) {
        final StreamChecks.@Nullable StreamPoint point = isDone && !points.isEmpty() ? points.get(event) : null;
        if (point != null) {
            point.checks().done(point);
        }
        return isDone;
    }

    private void forgetPoint(long event) {
        if (!points.isEmpty()) {
            points.remove(event);
        }
    }

    @Override
    public void check(long address, long byteSize, Access access, SyncStream stream) {
        if (stream instanceof CudaSyncStream own && own.checks().isOn() && !isCaptured(own)) {
            final StreamChecks.Span block = new StreamChecks.Span(address, byteSize);
            final boolean isWrite = access == Access.WRITE;
            try (Submission use = own.checks()
                    .use(
                            isWrite ? "tracked write" : "tracked read",
                            own,
                            isWrite ? StreamChecks.Span.NONE : block,
                            isWrite ? block : StreamChecks.Span.NONE)) {
                use.submitted();
            }
        }
    }

    /** Returns whether work is recorded rather than done, which is no use. */
    private boolean isCaptured(CudaSyncStream stream) {
        try {
            return streams.streamIsCapturing(device, CudaCalls.handle(stream));
        } catch (CudaException e) {
            throw CudaCalls.failure(e);
        }
    }

    @Override
    public void release(long event) {
        forgetPoint(event);
        putBack(event);
        synchronized (lock) {
            if (isClosed) {
                destroyIdle();
            }
        }
    }

    /**
     * Waits for events that are being recorded, then destroys the released ones; the others can be used still, and are
     * destroyed when they are released. No event is recorded any more.
     *
     * @throws DeviceException if the driver fails; the other events stay until another call
     */
    @Override
    public void close() {
        guard.close();
        synchronized (lock) {
            isClosed = true;
            destroyIdle();
        }
    }

    private void destroyIdle() {
        try {
            while (idleCount > 0) {
                streams.eventDestroy(device, idle[idleCount - 1]);
                idleCount--;
                eventCount--;
            }
        } catch (CudaException e) {
            throw CudaCalls.failure(e);
        }
    }

    @Override
    public String toString() {
        return "events of device " + device;
    }
}
