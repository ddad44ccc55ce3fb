package allocator.testkit.pages;

/** A page source under test, and access to its memory. */
public interface PageSubject extends AutoCloseable {
    /** Returns the calls of the source, the same at each call. */
    PageCalls pages();

    /** Writes to memory where an extent is mapped, and waits until it is written. */
    void write(long address, byte[] bytes);

    /** Reads memory where an extent is mapped. */
    byte[] read(long address, int byteSize);

    /** Ends the source. Fails if it still has pages, mappings or ranges, as far as the subject can tell. */
    @Override
    void close();
}
