package allocator.runtime.transfer;

import allocator.runtime.transfer.StagingMemory.Buffer;
import java.util.function.Function;

/**
 * Moves bytes in pieces through buffers of the host. While a piece is on its way from its buffer to the target, the
 * next one is on its way from the source to the other buffer.
 */
final class Pipeline {
    /** The size of a piece: long enough that what a call costs does not matter, short enough to fit any device. */
    static final long PIECE_BYTES = 4 << 20;

    private Pipeline() {}

    /** One half of the way: from the source to a buffer, or from a buffer to the target. */
    interface Half extends AutoCloseable {
        /** Begins to move a piece, at an offset of source or target; at most one is under way. */
        void move(long offset, Buffer buffer, long byteSize);

        /** Waits for the piece under way. */
        void await();

        /** Ends the use of what moves the pieces. The piece under way, if any, is done then, unless this throws. */
        @Override
        void close();
    }

    /** Moves all bytes and waits. Both halves are open as long as that takes, and the buffers longer. */
    static void move(
            long byteSize,
            StagingMemory memory,
            Function<StagingBuffers, Half> from,
            Function<StagingBuffers, Half> to) {
        final long most = Math.min(PIECE_BYTES, byteSize);
        try (StagingBuffers buffers = new StagingBuffers(memory, most, byteSize > most ? most : 1);
                Half reading = from.apply(buffers);
                Half writing = to.apply(buffers)) {
            Buffer buffer = buffers.even();
            Buffer other = buffers.odd();
            long offset = 0;
            while (offset < byteSize) {
                final long length = Math.min(most, byteSize - offset);
                reading.move(offset, buffer, length);
                reading.await();
                writing.await();
                writing.move(offset, buffer, length);
                offset += length;
                final Buffer used = buffer;
                buffer = other;
                other = used;
            }
            writing.await();
        }
    }
}
