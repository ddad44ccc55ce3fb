package allocator.resource.log;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;

/** A log that writes one line at a time. A line that its writer does not take or throws at is dropped and counted. */
abstract class LineLog implements ResourceLog, AutoCloseable {
    private final Writer out;

    /** Guards the writer and the state of subclasses. */
    final Object lock = new Object();

    private long dropped;

    LineLog(Writer out, String header) {
        this.out = out;
        try {
            out.write(header + '\n');
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Writes or drops a line, under the lock. Returns whether it was written, or will be with a later one. */
    final boolean write(CharSequence line) {
        boolean isWritten = false;
        try {
            out.write(line.toString() + '\n');
            isWritten = true;
        } catch (Throwable e) {
            dropped++;
        }
        return isWritten;
    }

    /** Counts a record that cannot be written. The caller holds the lock. */
    final void drop() {
        dropped++;
    }

    @Override
    public final long droppedRecords() {
        synchronized (lock) {
            return dropped;
        }
    }

    /**
     * Writes all lines to the file, or flushes the writer.
     *
     * @throws UncheckedIOException if that fails; another call tries again
     */
    public final void flush() {
        synchronized (lock) {
            try {
                out.flush();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /**
     * Writes all lines to the file, or closes the writer. Lines after that are dropped.
     *
     * @throws UncheckedIOException if that fails; another call tries again
     */
    @Override
    public final void close() {
        synchronized (lock) {
            try {
                out.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
