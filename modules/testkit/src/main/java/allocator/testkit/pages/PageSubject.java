package allocator.testkit.pages;

/** A page source under test, and access to its memory. */
public interface PageSubject extends AutoCloseable {
    /**
     * Returns the calls of the source.
     *
     * @return the same at each call
     */
    PageCalls pages();

    /**
     * Writes to memory, and waits until it is written.
     *
     * @param address the first address, where an extent is mapped
     * @param bytes what to write; does not reach beyond the extent
     */
    void write(long address, byte[] bytes);

    /**
     * Reads memory.
     *
     * @param address the first address, where an extent is mapped
     * @param byteSize how many bytes; does not reach beyond the extent
     * @return the bytes
     */
    byte[] read(long address, int byteSize);

    /**
     * Ends the source.
     *
     * @throws AssertionError if it still has pages, mappings or ranges, as far as the subject can tell
     */
    @Override
    void close();
}
