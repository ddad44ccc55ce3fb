package allocator.cuda.resource;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaStreams;
import allocator.resource.tracked.StreamEvents;
import allocator.spi.SyncStream;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * The events of one device's streams. Released events are reused. A {@link SyncStream} passed here must have the
 * driver's stream as its handle.
 */
public final class CudaEvents implements StreamEvents, AutoCloseable {
    private final CudaStreams streams;
    private final int device;
    private final Deque<Long> idle = new ArrayDeque<>();
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

    @Override
    public long record(SyncStream stream) {
        try {
            final long event = idleOrNew();
            boolean isRecorded = false;
            try {
                streams.eventRecord(device, event, stream.handle());
                isRecorded = true;
            } finally {
                if (!isRecorded) {
                    release(event);
                }
            }
            return event;
        } catch (CudaException e) {
            throw CudaCalls.failure(e);
        }
    }

    private long idleOrNew() {
        synchronized (idle) {
            final Long event = idle.pollLast();
            if (event != null) {
                return event;
            }
        }
        return streams.eventCreate(device);
    }

    @Override
    public void await(SyncStream stream, long event) {
        try {
            streams.streamWaitEvent(device, stream.handle(), event);
        } catch (CudaException e) {
            throw CudaCalls.failure(e);
        }
    }

    @Override
    public boolean isDone(long event) {
        try {
            return streams.eventQuery(device, event);
        } catch (CudaException e) {
            throw CudaCalls.failure(e);
        }
    }

    @Override
    public void release(long event) {
        synchronized (idle) {
            if (!isClosed) {
                idle.addLast(event);
                return;
            }
        }
        streams.eventDestroy(device, event);
    }

    /** Destroys the released events; the others are destroyed when they are released. A second call does nothing. */
    @Override
    public void close() {
        synchronized (idle) {
            isClosed = true;
            while (!idle.isEmpty()) {
                streams.eventDestroy(device, idle.removeLast());
            }
        }
    }
}
