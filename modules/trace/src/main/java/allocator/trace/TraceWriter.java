package allocator.trace;

import allocator.spi.OptionKey;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.function.UnaryOperator;
import java.util.zip.GZIPOutputStream;

/**
 * Writes a trace: plain, or gzip if the file's name ends in {@code .gz}.
 *
 * <p>The file is replaced atomically when the writer is closed; until then the bytes are in a file beside it whose name
 * ends in {@code .part}. A process that is killed therefore leaves no truncated trace, and a previous file stays. After
 * a failed write, which may have written a part of its event, every other write fails, and {@link #close} deletes the
 * unfinished file.
 *
 * <p>Not safe for use by several threads. The caller is responsible for the order of events; {@link TraceReader} checks
 * it.
 */
public final class TraceWriter implements AutoCloseable {
    private static final byte[] HEADER_LINE = (TraceReader.HEADER + "\n").getBytes(StandardCharsets.US_ASCII);

    /** an operation and three numbers of at most 19 digits, with commas and line feed, is the longest line. */
    private static final int MAX_LINE = 64;

    private final AtomicFile file;
    private final OutputStream out;
    private final byte[] line = new byte[MAX_LINE];
    private boolean isSound;
    private boolean isClosed;

    /**
     * Starts a trace.
     *
     * @param file the trace; an existing file is replaced when the writer is closed
     * @throws IOException if the folder is missing or cannot be written
     */
    public TraceWriter(Path file) throws IOException {
        this(file, out -> out);
    }

    /** Starts a trace whose bytes pass through another stream on their way to the file. */
    TraceWriter(Path file, UnaryOperator<OutputStream> around) throws IOException {
        this.file = new AtomicFile(file);
        try {
            OutputStream sink = around.apply(this.file.out());
            if (file.toString().endsWith(".gz")) {
                sink = new GZIPOutputStream(sink, 1 << 13);
            }
            out = new BufferedOutputStream(sink, 1 << 16);
            out.write(HEADER_LINE);
            isSound = true;
        } catch (IOException | RuntimeException | Error e) {
            this.file.discard();
            throw e;
        }
    }

    /**
     * Writes an allocation.
     *
     * @param id the block's id
     * @param byteSize size in bytes
     * @param stream number of the stream
     * @throws IOException if the file cannot be written
     * @throws IllegalArgumentException if a number is negative or the size above {@link OptionKey#MAX_SIZE}
     */
    public void allocation(long id, long byteSize, int stream) throws IOException {
        write('a', id, byteSize, stream);
    }

    /**
     * Writes an allocation by {@code reserve}. It has no stream, which is written as 0.
     *
     * @param id the block's id
     * @param byteSize size in bytes
     * @throws IOException if the file cannot be written
     * @throws IllegalArgumentException as {@link #allocation}
     */
    public void reserve(long id, long byteSize) throws IOException {
        write('r', id, byteSize, 0);
    }

    /**
     * Writes a free.
     *
     * @param id the block's id
     * @param byteSize size in bytes, as allocated
     * @param stream number of the stream on which it was allocated
     * @throws IOException if the file cannot be written
     * @throws IllegalArgumentException as {@link #allocation}
     */
    public void free(long id, long byteSize, int stream) throws IOException {
        write('f', id, byteSize, stream);
    }

    private void write(char op, long id, long byteSize, int stream) throws IOException {
        if (id < 0 || byteSize < 0 || byteSize > OptionKey.MAX_SIZE || stream < 0) {
            throw new IllegalArgumentException("no event of a trace: " + op + "," + id + "," + byteSize + "," + stream);
        }
        if (isClosed) {
            throw new IllegalStateException("the trace is closed");
        }
        if (!isSound) {
            throw new IOException("an earlier event could not be written");
        }
        // Backwards, the order in which the digits of a number are computed.
        int at = MAX_LINE;
        line[--at] = '\n';
        at = digits(stream, at);
        line[--at] = ',';
        at = digits(byteSize, at);
        line[--at] = ',';
        at = digits(id, at);
        line[--at] = ',';
        line[--at] = (byte) op;
        isSound = false;
        out.write(line, at, MAX_LINE - at);
        isSound = true;
    }

    private int digits(long number, int end) {
        int at = end;
        long rest = number;
        do {
            line[--at] = (byte) ('0' + rest % 10);
            rest /= 10;
        } while (rest != 0);
        return at;
    }

    /**
     * Completes the trace and renames the file. A second call does nothing.
     *
     * @throws IOException if the file cannot be completed; it is deleted then
     */
    @Override
    public void close() throws IOException {
        if (isClosed) {
            return;
        }
        isClosed = true;
        if (!isSound) {
            file.discard();
            return;
        }
        try {
            out.close();
        } catch (IOException | RuntimeException | Error e) {
            file.discard();
            throw e;
        }
        file.commit();
    }

    /**
     * Closes the writer and deletes the unfinished file; a previous file stays. Does nothing if it is closed.
     *
     * @throws IOException if the unfinished file cannot be deleted
     */
    public void discard() throws IOException {
        if (!isClosed) {
            isClosed = true;
            file.discard();
        }
    }
}
