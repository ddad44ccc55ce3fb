package allocator.cuda.simulated.device;

import allocator.cuda.driver.CudaResult;
import allocator.cuda.simulated.device.StreamQueue.Operation;
import allocator.cuda.simulated.device.StreamQueue.Span;
import allocator.cuda.simulated.device.Streams.Event;
import allocator.spi.StreamHazardException.Site;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Submits operations to streams and executes them: at once, or if streams lag, when a call waits for them or a test
 * advances them.
 *
 * <p>Every method is called with the lock held once. The lock is released only while a host function runs.
 */
final class Scheduler {
    private final ReentrantLock lock;
    private final Condition changed;
    private final Streams streams;
    private final HazardDetector hazards;
    private final boolean hasLag;
    private final ThreadLocal<Boolean> isInHostFunction = ThreadLocal.withInitial(() -> false);

    Scheduler(ReentrantLock lock, Streams streams, HazardDetector hazards, boolean hasLag) {
        this.lock = lock;
        this.changed = lock.newCondition();
        this.streams = streams;
        this.hazards = hazards;
        this.hasLag = hasLag;
    }

    /** Returns whether the calling thread runs a host function. */
    boolean isInHostFunction() {
        return isInHostFunction.get();
    }

    /** Submits an operation that accesses memory; throws if incomplete work that is not ordered before does so too. */
    void submit(StreamQueue queue, Site site, List<Span> accessed, Runnable action) {
        if (isCaptured(queue)) {
            return;
        }
        hazards.requireOrdered(queue, site, accessed);
        add(queue, new Operation(queue.submitted + 1, accessed, site, action, null, null, 0));
    }

    /** Returns whether what is submitted is recorded rather than done; throws if the capture is invalid. */
    private static boolean isCaptured(StreamQueue queue) {
        if (queue.capture == null) {
            return false;
        }
        queue.capture.requireValid();
        return true;
    }

    void submitHostFunction(StreamQueue queue, Runnable function) {
        if (isCaptured(queue)) {
            return;
        }
        add(queue, new Operation(queue.submitted + 1, List.of(), null, null, function, null, 0));
    }

    void record(Event event, StreamQueue queue) {
        event.capture = queue.capture;
        if (isCaptured(queue)) {
            return;
        }
        event.recordedOn = queue;
        event.recordedAt = queue.submitted + 1;
        event.recordedFollows = Map.copyOf(queue.follows);
        add(queue, new Operation(queue.submitted + 1, List.of(), null, null, null, null, 0));
    }

    void waitFor(StreamQueue queue, Event event) {
        if (event.capture != null) {
            if (event.capture.hasEnded()) {
                throw new CallFailure(CudaResult.CAPTURED_EVENT);
            }
            event.capture.join(queue);
        } else if (event.recordedOn != null) {
            queue.requireNotCaptured(CudaResult.STREAM_CAPTURE_ISOLATION);
            waitFor(queue, event.recordedOn, event.recordedAt, event.recordedFollows);
        }
    }

    void waitFor(StreamQueue queue, StreamQueue other, long position, Map<StreamQueue, Long> othersFollowed) {
        queue.follow(other, position, othersFollowed);
        add(queue, new Operation(queue.submitted + 1, List.of(), null, null, null, other, position));
    }

    private void add(StreamQueue queue, Operation operation) {
        queue.submitted++;
        queue.waiting.add(operation);
        if (!hasLag) {
            drain(queue, operation.position());
        }
    }

    /** Executes a stream's operations up to a position, and those of other streams that they wait for. */
    void drain(StreamQueue queue, long position) {
        while (!queue.hasDone(position)) {
            if (queue.isInHostFunction) {
                changed.awaitUninterruptibly();
                continue;
            }
            final Operation operation = queue.waiting.element();
            if (operation.canRun()) {
                run(queue, operation);
            } else if (operation.waitsFor() != null) {
                drain(operation.waitsFor(), operation.waitsForPosition());
            }
        }
    }

    void drainDevice(int device) {
        for (StreamQueue queue : List.copyOf(streams.all())) {
            if (queue.device == device) {
                drain(queue, queue.submitted);
            }
        }
    }

    void drainAll() {
        for (StreamQueue queue : List.copyOf(streams.all())) {
            drain(queue, queue.submitted);
        }
    }

    /** Executes what a stream can execute without progress of other streams; returns the number of operations. */
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

    private void run(StreamQueue queue, Operation operation) {
        if (operation.hostFunction() != null) {
            runUnlocked(queue, operation.hostFunction());
        }
        queue.waiting.remove();
        queue.done = operation.position();
        if (operation.action() != null) {
            operation.action().run();
        }
        changed.signalAll();
        streams.removeIfFinished(queue);
    }

    private void runUnlocked(StreamQueue queue, Runnable function) {
        queue.isInHostFunction = true;
        isInHostFunction.set(true);
        lock.unlock();
        try {
            function.run();
        } catch (RuntimeException | Error e) {
            System.getLogger(Scheduler.class.getName())
                    .log(System.Logger.Level.ERROR, "a host function on a simulated stream failed", e);
        } finally {
            lock.lock();
            isInHostFunction.remove();
            queue.isInHostFunction = false;
        }
    }
}
