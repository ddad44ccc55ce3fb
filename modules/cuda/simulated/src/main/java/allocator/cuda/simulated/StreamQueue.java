package allocator.cuda.simulated;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A stream: work in the order in which it was given, each piece at a position that counts from 1.
 *
 * <p>{@link #follows} says up to which position of another stream this stream's next work is ordered behind it, by
 * events. It is how far unordered work on the same memory is told from ordered work.
 */
final class StreamQueue {
    final long handle;
    final long id;
    final int device;
    final ArrayDeque<Work> waiting = new ArrayDeque<>();
    final Map<StreamQueue, Long> follows = new HashMap<>();
    long given;
    long done;

    /** A thread is in the host function at the head, without the lock. */
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
        return done == given;
    }

    /** Whether this stream's next work comes after another's work at a position, or that is done anyway. */
    boolean comesAfter(StreamQueue other, long position) {
        return other == this || other.hasDone(position) || isOrderedAfter(other, position);
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
     * A piece of work.
     *
     * @param position its place in the stream
     * @param name what it is
     * @param touched memory that it reads or writes
     * @param action what it does, in the lock
     * @param hostFunction what it calls, without the lock
     * @param waitsFor the stream that must have come to {@code waitsForPosition} first
     * @param waitsForPosition see {@code waitsFor}
     */
    record Work(
            long position,
            String name,
            List<Span> touched,
            @Nullable Runnable action,
            @Nullable Runnable hostFunction,
            @Nullable StreamQueue waitsFor,
            long waitsForPosition) {
        boolean canRun() {
            return waitsFor == null || waitsFor.hasDone(waitsForPosition);
        }
    }

    /**
     * Memory that work touches.
     *
     * @param address first byte
     * @param byteSize number of bytes
     * @param isWritten whether it changes
     */
    record Span(long address, long byteSize, boolean isWritten) {
        boolean conflictsWith(Span other) {
            return (isWritten || other.isWritten)
                    && address < other.address + other.byteSize
                    && other.address < address + byteSize;
        }
    }
}
