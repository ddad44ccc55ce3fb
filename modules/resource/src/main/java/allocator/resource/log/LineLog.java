package allocator.resource.log;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.util.concurrent.locks.ReentrantLock;

/** A log that writes lines, one at a time. A line that cannot be written is dropped and counted. */
abstract class LineLog implements ResourceLog, AutoCloseable {
    private final Writer out;

    /** Guards the writer and the state of subclasses. */
    final ReentrantLock lock = new ReentrantLock();

    private long dropped;

    LineLog(Writer out, String header) {
        this.out = out;
        try {
            out.write(header);
            out.write('\n');
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Writes a line. The caller holds the lock. */
    final void write(CharSequence line) {
        try {
            out.append(line).append('\n');
        } catch (IOException e) {
            dropped++;
        }
    }

    /** Counts a record that cannot be written. The caller holds the lock. */
    final void drop() {
        dropped++;
    }

    @Override
    public final long droppedRecords() {
        lock.lock();
        try {
            return dropped;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Flushes the writer.
     *
     * @throws UncheckedIOException if that fails
     */
    public final void flush() {
        lock.lock();
        try {
            out.flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            lock.unlock();
        }
    }

    @Override
    public final void close() {
        lock.lock();
        try {
            out.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            lock.unlock();
        }
    }
}
