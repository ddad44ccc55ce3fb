package allocator.provider.support;

/** Java heap that arrays take: header included, references counted as uncompressed. */
public final class HeapSize {
    private static final long HEADER = 16;

    private HeapSize() {}

    /**
     * Returns the heap of a {@code long[]}.
     *
     * @param length its length
     * @return bytes
     */
    public static long ofLongs(long length) {
        return HEADER + length * Long.BYTES;
    }

    /**
     * Returns the heap of an {@code int[]}.
     *
     * @param length its length
     * @return bytes
     */
    public static long ofInts(long length) {
        return HEADER + length * Integer.BYTES;
    }

    /**
     * Returns the heap of an array of references.
     *
     * @param length its length
     * @return bytes, without those of the objects
     */
    public static long ofReferences(long length) {
        return HEADER + length * Long.BYTES;
    }
}
