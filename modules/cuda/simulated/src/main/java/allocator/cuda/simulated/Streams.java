package allocator.cuda.simulated;

import allocator.cuda.driver.CudaResult;
import allocator.cuda.simulated.StreamQueue.Span;
import allocator.cuda.simulated.StreamQueue.Work;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * All streams, and the clock that moves them: work is done when the clock is told to, when somebody waits for it, or at
 * once.
 *
 * <p>Every method is called with the lock held once; only while a host function runs is it given up.
 */
final class Streams {
    private static final long FIRST_HANDLE = 0x5500_0000_1000L;
    private static final long HANDLE_STEP = 0x80;

    private final ReentrantLock lock;
    private final Condition changed;
    private final boolean lag;
    private final Consumer<String> onHazard;
    private final ThreadLocal<Boolean> isInHostFunction = ThreadLocal.withInitial(() -> false);

    /** Destroyed streams stay here until their work is done. */
    private final Set<StreamQueue> queues = new LinkedHashSet<>();

    private final Map<Long, StreamQueue> byHandle = new HashMap<>();
    private final Map<Long, Event> events = new HashMap<>();
    private final List<Long> returnedHandles = new ArrayList<>();
    private long nextHandle = FIRST_HANDLE;
    private long nextId = 1;

    /** What an event recorded last: a position of a stream, and what that stream was ordered behind. */
    static final class Event {
        final long handle;
        final int device;

        @Nullable
        StreamQueue recordedOn;

        long recordedAt;
        Map<StreamQueue, Long> recordedFollows = Map.of();

        Event(long handle, int device) {
            this.handle = handle;
            this.device = device;
        }

        boolean isDone() {
            return recordedOn == null || recordedOn.hasDone(recordedAt);
        }
    }

    Streams(ReentrantLock lock, boolean lag, Consumer<String> onHazard) {
        this.lock = lock;
        this.changed = lock.newCondition();
        this.lag = lag;
        this.onHazard = onHazard;
    }

    boolean isInHostFunction() {
        return isInHostFunction.get();
    }

    // Handles

    /** Handles are used again as soon as they are free, as a real driver does; ids are not. */
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

    StreamQueue find(long handle, int device) {
        final StreamQueue queue = byHandle.get(handle);
        if (queue == null || queue.device != device) {
            throw new Refused(CudaResult.INVALID_HANDLE);
        }
        return queue;
    }

    StreamQueue find(long handle) {
        final StreamQueue queue = byHandle.get(handle);
        if (queue == null) {
            throw new Refused(CudaResult.INVALID_HANDLE);
        }
        return queue;
    }

    void destroy(StreamQueue queue) {
        byHandle.remove(queue.handle);
        returnHandle(queue.handle);
        forgetIfOver(queue);
    }

    private void forgetIfOver(StreamQueue queue) {
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
            throw new Refused(CudaResult.INVALID_HANDLE);
        }
        return event;
    }

    Event findEvent(long handle, int device) {
        final Event event = findEvent(handle);
        if (event.device != device) {
            throw new Refused(CudaResult.INVALID_HANDLE);
        }
        return event;
    }

    void destroyEvent(Event event) {
        events.remove(event.handle);
        returnHandle(event.handle);
    }

    /** What was created on a device and not destroyed, a line each. */
    List<String> live(int device) {
        final List<String> live = new ArrayList<>();
        byHandle.values().stream()
                .filter(queue -> queue.device == device)
                .forEach(queue -> live.add("%s, handle %#x".formatted(queue, queue.handle)));
        events.values().stream()
                .filter(event -> event.device == device)
                .forEach(event -> live.add("device %d: event %#x".formatted(device, event.handle)));
        return live;
    }

    /** A context goes, and its streams and events with it. */
    void destroyAll(int device) {
        queues.removeIf(queue -> queue.device == device);
        byHandle.values().removeIf(queue -> queue.device == device);
        events.values().removeIf(event -> event.device == device);
    }

    // Work

    /** Gives a stream work that touches memory; refuses it if it may meet other work there. */
    void give(StreamQueue queue, String name, List<Span> touched, Runnable action) {
        requireOrdered(queue, name, touched);
        add(queue, new Work(queue.given + 1, name, touched, action, null, null, 0));
    }

    void giveHostFunction(StreamQueue queue, Runnable function) {
        add(queue, new Work(queue.given + 1, "cuLaunchHostFunc", List.of(), null, function, null, 0));
    }

    void record(Event event, StreamQueue queue) {
        event.recordedOn = queue;
        event.recordedAt = queue.given + 1;
        event.recordedFollows = Map.copyOf(queue.follows);
        add(queue, new Work(queue.given + 1, "cuEventRecord", List.of(), null, null, null, 0));
    }

    void waitFor(StreamQueue queue, Event event) {
        if (event.recordedOn != null) {
            waitFor(queue, event.recordedOn, event.recordedAt, event.recordedFollows);
        }
    }

    void waitFor(StreamQueue queue, StreamQueue other, long position, Map<StreamQueue, Long> othersFollowed) {
        queue.follow(other, position, othersFollowed);
        add(queue, new Work(queue.given + 1, "cuStreamWaitEvent", List.of(), null, null, other, position));
    }

    private void add(StreamQueue queue, Work work) {
        queue.given++;
        queue.waiting.add(work);
        if (!lag) {
            drain(queue, work.position());
        }
    }

    /** Refuses to touch memory that another stream's work, not done yet and not ordered before, touches too. */
    void requireOrdered(StreamQueue queue, String name, List<Span> touched) {
        for (StreamQueue other : queues) {
            if (other != queue) {
                for (Work work : other.waiting) {
                    if (!queue.isOrderedAfter(other, work.position())) {
                        requireApart(queue.toString(), name, touched, other, work);
                    }
                }
            }
        }
    }

    /** Refuses to take memory away that work on any stream still touches. */
    void requireDone(String name, List<Span> touched) {
        for (StreamQueue other : queues) {
            for (Work work : other.waiting) {
                requireApart("the host", name, touched, other, work);
            }
        }
    }

    private void requireApart(String who, String name, List<Span> touched, StreamQueue other, Work work) {
        for (Span mine : touched) {
            for (Span its : work.touched()) {
                if (mine.conflictsWith(its)) {
                    hazard(
                            "%s on %s touches %d bytes at %#x, but %s on %s, not done yet, touches %d bytes at %#x, and nothing orders them"
                                    .formatted(
                                            name,
                                            who,
                                            mine.byteSize(),
                                            mine.address(),
                                            work.name(),
                                            other,
                                            its.byteSize(),
                                            its.address()));
                }
            }
        }
    }

    StreamHazardException hazard(String message) {
        onHazard.accept(message);
        throw new StreamHazardException(message);
    }

    // The clock

    /** Does a stream's work up to a position, and what that waits for. */
    void drain(StreamQueue queue, long position) {
        while (!queue.hasDone(position)) {
            if (queue.isInHostFunction) {
                changed.awaitUninterruptibly();
                continue;
            }
            final Work work = queue.waiting.element();
            if (work.canRun()) {
                run(queue, work);
            } else if (work.waitsFor() != null) {
                drain(work.waitsFor(), work.waitsForPosition());
            }
        }
    }

    void drainDevice(int device) {
        for (StreamQueue queue : List.copyOf(queues)) {
            if (queue.device == device) {
                drain(queue, queue.given);
            }
        }
    }

    void drainAll() {
        for (StreamQueue queue : List.copyOf(queues)) {
            drain(queue, queue.given);
        }
    }

    /** Does what a stream can do without the others; returns how many pieces of work that was. */
    int advance(StreamQueue queue) {
        int count = 0;
        while (!queue.isIdle()
                && !queue.isInHostFunction
                && queue.waiting.element().canRun()) {
            run(queue, queue.waiting.element());
            count++;
        }
        return count;
    }

    private void run(StreamQueue queue, Work work) {
        if (work.hostFunction() != null) {
            runUnlocked(queue, work.hostFunction());
        }
        queue.waiting.remove();
        queue.done = work.position();
        if (work.action() != null) {
            work.action().run();
        }
        changed.signalAll();
        forgetIfOver(queue);
    }

    private void runUnlocked(StreamQueue queue, Runnable function) {
        queue.isInHostFunction = true;
        isInHostFunction.set(true);
        lock.unlock();
        try {
            function.run();
        } catch (RuntimeException | Error e) {
            System.getLogger(Streams.class.getName())
                    .log(System.Logger.Level.ERROR, "a host function on a simulated stream failed", e);
        } finally {
            lock.lock();
            isInHostFunction.remove();
            queue.isInHostFunction = false;
        }
    }
}
