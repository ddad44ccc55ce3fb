package allocator.cuda.simulated.device;

import allocator.cuda.driver.CudaResult;
import allocator.cuda.simulated.device.StreamQueue.Capture;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** All streams and events, by their handles. Used under the machine's lock. */
final class Streams {
    private static final long FIRST_HANDLE = 0x5500_0000_1000L;
    private static final long HANDLE_STEP = 0x80;

    /** Includes destroyed streams until their work is complete. */
    private final Set<StreamQueue> queues = new LinkedHashSet<>();

    private final Map<Long, StreamQueue> byHandle = new HashMap<>();
    private final Map<Long, Event> events = new HashMap<>();

    /** The device of each graph. */
    private final Map<Long, Integer> graphs = new HashMap<>();

    private final List<Long> returnedHandles = new ArrayList<>();
    private long nextHandle = FIRST_HANDLE;
    private long nextId = 1;

    /** What an event recorded last: a position of a stream, and what that stream was ordered behind. */
    static final class Event {
        final long handle;
        final int device;

        @Nullable
        StreamQueue recordedOn;

        /** The capture in which it was recorded last; null if in none. */
        @Nullable
        Capture capture;

        long recordedAt;
        Map<StreamQueue, Long> recordedFollows = Map.of();

        Event(long handle, int device) {
            this.handle = handle;
            this.device = device;
        }

        /** Throws if the event was recorded in a capture, so that the host cannot ask for it. */
        void requireNotCaptured() {
            if (capture != null) {
                throw capture.invalidate(CudaResult.CAPTURED_EVENT);
            }
        }

        boolean isDone() {
            return recordedOn == null || recordedOn.hasDone(recordedAt);
        }
    }

    /** Returns an unused handle. Handles are reused as soon as they are free, as by a real driver; ids are not. */
    long newHandle() {
        if (!returnedHandles.isEmpty()) {
            return returnedHandles.removeLast();
        }
        final long handle = nextHandle;
        nextHandle += HANDLE_STEP;
        return handle;
    }

    void returnHandle(long handle) {
        returnedHandles.add(handle);
    }

    Collection<StreamQueue> all() {
        return queues;
    }

    StreamQueue createDefault(int device) {
        final StreamQueue queue = new StreamQueue(0, nextId++, device);
        queues.add(queue);
        return queue;
    }

    StreamQueue create(int device) {
        final StreamQueue queue = new StreamQueue(newHandle(), nextId++, device);
        queues.add(queue);
        byHandle.put(queue.handle, queue);
        return queue;
    }

    StreamQueue find(long handle) {
        final StreamQueue queue = byHandle.get(handle);
        if (queue == null) {
            throw new CallFailure(CudaResult.INVALID_HANDLE);
        }
        return queue;
    }

    StreamQueue find(long handle, int device) {
        final StreamQueue queue = find(handle);
        if (queue.device != device) {
            throw new CallFailure(CudaResult.INVALID_HANDLE);
        }
        return queue;
    }

    /** Returns a stream of a device; handle 0 is the default stream. */
    StreamQueue queue(Device device, long handle) {
        return handle == 0 && device.defaultStream != null ? device.defaultStream : find(handle, device.ordinal());
    }

    void destroy(StreamQueue queue) {
        if (queue.capture != null) {
            queue.capture.invalidate(CudaResult.STREAM_CAPTURE_INVALIDATED);
        }
        byHandle.remove(queue.handle);
        returnHandle(queue.handle);
        removeIfFinished(queue);
    }

    /** Removes a stream if it is destroyed and its work is complete. */
    void removeIfFinished(StreamQueue queue) {
        if (queue.handle != 0 && byHandle.get(queue.handle) != queue && queue.isIdle()) {
            queues.remove(queue);
        }
    }

    Event createEvent(int device) {
        final Event event = new Event(newHandle(), device);
        events.put(event.handle, event);
        return event;
    }

    Event findEvent(long handle) {
        final Event event = events.get(handle);
        if (event == null) {
            throw new CallFailure(CudaResult.INVALID_HANDLE);
        }
        return event;
    }

    Event findEvent(long handle, int device) {
        final Event event = findEvent(handle);
        if (event.device != device) {
            throw new CallFailure(CudaResult.INVALID_HANDLE);
        }
        return event;
    }

    void destroyEvent(Event event) {
        events.remove(event.handle);
        returnHandle(event.handle);
    }

    /** Begins to capture a stream into a new graph. */
    void beginCapture(StreamQueue queue) {
        queue.requireNotCaptured(CudaResult.ILLEGAL_STATE);
        final long graph = newHandle();
        graphs.put(graph, queue.device);
        new Capture(queue, graph).join(queue);
    }

    /** Ends the capture that was begun on a stream; returns the graph. */
    long endCapture(StreamQueue queue) {
        final Capture capture = queue.capture;
        if (capture == null) {
            throw new CallFailure(CudaResult.ILLEGAL_STATE);
        }
        if (!capture.end(queue)) {
            destroyGraph(capture.graph, queue.device);
            throw new CallFailure(CudaResult.STREAM_CAPTURE_INVALIDATED);
        }
        return capture.graph;
    }

    void destroyGraph(long graph, int device) {
        if (!graphs.remove(graph, device)) {
            throw new CallFailure(CudaResult.INVALID_VALUE);
        }
        returnHandle(graph);
    }

    /** Throws if a stream of a device is being captured; all such captures are invalidated. */
    void requireNoneCaptured(int device) {
        CallFailure failure = null;
        for (StreamQueue queue : queues) {
            if (queue.device == device && queue.capture != null) {
                failure = queue.capture.invalidate(CudaResult.STREAM_CAPTURE_UNSUPPORTED);
            }
        }
        if (failure != null) {
            throw failure;
        }
    }

    /** Returns the streams and events that were created on a device and not destroyed, one line each. */
    List<String> live(int device) {
        final List<String> live = new ArrayList<>();
        byHandle.values().stream().filter(queue -> queue.device == device).forEach(queue -> live.add(queue.toString()));
        events.values().stream()
                .filter(event -> event.device == device)
                .forEach(event -> live.add("device %d: event %#x".formatted(device, event.handle)));
        graphs.forEach((graph, onDevice) -> {
            if (onDevice == device) {
                live.add("device %d: graph %#x".formatted(device, graph));
            }
        });
        return live;
    }

    /** Destroys all streams and events of a device, as the end of its context does. */
    void destroyAll(int device) {
        queues.removeIf(queue -> queue.device == device);
        byHandle.values().removeIf(queue -> queue.device == device);
        events.values().removeIf(event -> event.device == device);
        graphs.values().removeIf(onDevice -> onDevice == device);
    }
}
