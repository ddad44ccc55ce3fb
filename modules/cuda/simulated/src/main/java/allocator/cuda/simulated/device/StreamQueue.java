package allocator.cuda.simulated.device;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A stream: operations in the order in which they were submitted, each at a position that counts from 1.
 *
 * <p>{@link #follows} holds up to which position of another stream the next operation of this stream is ordered behind
 * it, by events. It tells ordered accesses to the same memory from unordered ones.
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
        return (handle == 0 ? "default stream" : "stream " + id) + " of device " + device;
    }

    /**
     * An operation on a stream.
     *
     * @param position its position in the stream
     * @param name the function that submitted it
     * @param accessed memory that it reads or writes
     * @param action what it does, under the lock
     * @param hostFunction what it calls, without the lock
     * @param waitsFor the stream that must have completed {@code waitsForPosition} first
     * @param waitsForPosition see {@code waitsFor}
     */
    record Operation(
            long position,
            String name,
            List<Span> accessed,
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
}
