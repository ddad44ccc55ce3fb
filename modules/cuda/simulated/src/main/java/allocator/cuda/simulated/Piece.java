package allocator.cuda.simulated;

import java.util.List;

/**
 * Part of some memory.
 *
 * @param bytes the memory
 * @param offset where in it the part begins
 * @param byteSize the part's size
 */
record Piece(Bytes bytes, long offset, long byteSize) {
    void fill(byte value) {
        bytes.fill(offset, byteSize, value);
    }

    /** Copies from pieces to pieces that are cut elsewhere. */
    static void copy(List<Piece> source, List<Piece> target, long byteSize) {
        int from = 0;
        int to = 0;
        long fromDone = 0;
        long toDone = 0;
        for (long done = 0; done < byteSize; ) {
            final Piece read = source.get(from);
            final Piece written = target.get(to);
            final long part = Math.min(read.byteSize - fromDone, written.byteSize - toDone);
            Bytes.copy(read.bytes, read.offset + fromDone, written.bytes, written.offset + toDone, part);
            done += part;
            fromDone += part;
            toDone += part;
            if (fromDone == read.byteSize) {
                from++;
                fromDone = 0;
            }
            if (toDone == written.byteSize) {
                to++;
                toDone = 0;
            }
        }
    }
}
