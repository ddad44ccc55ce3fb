package allocator.arena.chunk;

/** Java heap taken by arrays: header included, references counted as uncompressed. */
final class HeapSize {
    private static final long HEADER = 16;

    private HeapSize() {}

    static long ofLongs(long length) {
        return HEADER + length * Long.BYTES;
    }

    static long ofInts(long length) {
        return HEADER + length * Integer.BYTES;
    }

    static long ofReferences(long length) {
        return HEADER + length * Long.BYTES;
    }
}
