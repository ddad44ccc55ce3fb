package allocator.cuda.simulated.device;

import allocator.cuda.driver.CudaResult;
import allocator.spi.StreamHazardException.Site;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A stream: operations in the order in which they were submitted, each at a position that counts from 1.
 *
 * <p>{@link #follows} holds up to which position of another stream the next operation of this stream is ordered behind
 * it, by events. It distinguishes ordered accesses to the same memory from unordered ones.
 */
final class StreamQueue {
    final long handle;
    final long id;
    final int device;
    final ArrayDeque<Operation> waiting = new ArrayDeque<>();
    final Map<StreamQueue, Long> follows = new HashMap<>();

    /** Position of the operation submitted last. */
    long submitted;

    /** Position of the operation completed last. */
    long done;

    /** What captures this stream; null if nothing does. */
    @Nullable
    Capture capture;

    /** Returns the id; of a stream that is being captured the call fails, and invalidates the capture. */
    long identity() {
        if (capture != null) {
            throw capture.invalidate(CudaResult.STREAM_CAPTURE_UNSUPPORTED);
        }
        return id;
    }

    /** A thread runs the host function at the head, without the lock. */
    boolean isInHostFunction;

    StreamQueue(long handle, long id, int device) {
        this.handle = handle;
        this.id = id;
        this.device = device;
    }

    boolean hasDone(long position) {
        return done >= position;
    }

    /** Throws if this stream is being captured, which is invalidated: the call is not possible then. */
    void requireNotCaptured(int result) {
        if (capture != null) {
            throw capture.invalidate(result);
        }
    }

    boolean isIdle() {
        return done == submitted;
    }

    boolean isOrderedAfter(StreamQueue other, long position) {
        return other == this || follows.getOrDefault(other, 0L) >= position;
    }

    void follow(StreamQueue other, long position, Map<StreamQueue, Long> othersFollowed) {
        othersFollowed.forEach((stream, upTo) -> follows.merge(stream, upTo, Math::max));
        follows.merge(other, position, Math::max);
    }

    @Override
    public String toString() {
        return handle == 0
                ? "default stream of device " + device
                : "stream %d of device %d (handle %#x)".formatted(id, device, handle);
    }

    /**
     * An operation on a stream.
     *
     * @param position its position in the stream
     * @param accessed memory that it reads or writes
     * @param site where it was submitted; {@code null} if it accesses no memory
     * @param action what it does, under the lock
     * @param hostFunction what it calls, without the lock
     * @param waitsFor the stream that must have completed {@code waitsForPosition} first
     * @param waitsForPosition see {@code waitsFor}
     */
    record Operation(
            long position,
            List<Span> accessed,
            @Nullable Site site,
            @Nullable Runnable action,
            @Nullable Runnable hostFunction,
            @Nullable StreamQueue waitsFor,
            long waitsForPosition) {
        boolean canRun() {
            return waitsFor == null || waitsFor.hasDone(waitsForPosition);
        }
    }

    /**
     * Memory that an operation accesses.
     *
     * @param address first byte
     * @param byteSize number of bytes
     * @param isWritten whether it is written
     */
    record Span(long address, long byteSize, boolean isWritten) {
        boolean conflictsWith(Span other) {
            return (isWritten || other.isWritten)
                    && address < other.address + other.byteSize
                    && other.address < address + byteSize;
        }
    }

    /** The capture of one or several streams into a graph. What is submitted to them is checked, and not done. */
    static final class Capture {
        final long graph;
        private final StreamQueue origin;
        private final List<StreamQueue> streams = new ArrayList<>();
        private boolean isInvalidated;
        private boolean hasEnded;

        Capture(StreamQueue origin, long graph) {
            this.origin = origin;
            this.graph = graph;
        }

        /** Makes a stream part of this capture. */
        void join(StreamQueue queue) {
            if (queue.capture == this) {
                return;
            }
            if (queue.capture != null) {
                isInvalidated = true;
                throw queue.capture.invalidate(CudaResult.STREAM_CAPTURE_MERGE);
            }
            queue.capture = this;
            streams.add(queue);
        }

        /** Ends this capture for all its streams; returns whether the graph is complete. */
        boolean end(StreamQueue queue) {
            if (queue != origin) {
                throw invalidate(CudaResult.STREAM_CAPTURE_UNMATCHED);
            }
            streams.forEach(stream -> stream.capture = null);
            hasEnded = true;
            return !isInvalidated;
        }

        boolean hasEnded() {
            return hasEnded;
        }

        void requireValid() {
            if (isInvalidated) {
                throw new CallFailure(CudaResult.STREAM_CAPTURE_INVALIDATED);
            }
        }

        /** Invalidates this capture; returns what to throw. */
        CallFailure invalidate(int result) {
            isInvalidated = true;
            return new CallFailure(result);
        }
    }
}
