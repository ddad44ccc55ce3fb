package allocator.resource;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.util.concurrent.locks.ReentrantLock;

/** A log of lines: one at a time, and none can fail. */
abstract class LineLog implements ResourceLog, AutoCloseable {
    private final Writer out;

    /** Also guards what a subclass keeps to write its lines. */
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

    /** Called with the lock held. */
    final void write(CharSequence line) {
        try {
            out.append(line).append('\n');
        } catch (IOException e) {
            dropped++;
        }
    }

    /** Called with the lock held. */
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

    /** Writes what is still in a buffer. */
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
