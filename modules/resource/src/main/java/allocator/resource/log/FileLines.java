package allocator.resource.log;

import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;

/**
 * Collects whole lines and writes them to a file, many at once. Lines that cannot be written stay here, and the next
 * call tries again; a line for which there is no room is rejected. So the file has whole lines in the order in which
 * they were taken, whatever fails in between.
 */
final class FileLines extends Writer {
    /** Bytes of lines that are not in the file yet, at most. */
    static final int CAPACITY = 1 << 16;

    private final Target file;

    /** The lines that are not in the file yet, from the start; what follows them is undefined. */
    private final byte[] bytes = new byte[CAPACITY];

    private int filled;

    /** Where the next line starts in the file. What the file has from there on is the rest of a failure. */
    private long position;

    private boolean isClosed;

    /** A file that is written at given positions. Whatever its calls throw, they can be repeated. */
    interface Target {
        /** Writes the first bytes of an array; has written any number of them if it throws. */
        void write(byte[] from, int length, long position) throws IOException;

        /** Removes what follows a position. */
        void truncate(long size) throws IOException;

        void close() throws IOException;
    }

    FileLines(Target file) {
        this.file = file;
    }

    @Override
    public void write(char[] from, int offset, int length) throws IOException {
        write(new String(from, offset, length));
    }

    /**
     * Takes a line.
     *
     * @param line its text, in ASCII, with a line feed at its end
     * @throws IOException as anything else that is thrown: nothing of the line is taken
     */
    @Override
    public void write(String line) throws IOException {
        if (isClosed) {
            throw new IOException("the log is closed");
        }
        final byte[] ascii = line.getBytes(StandardCharsets.US_ASCII);
        final int length = ascii.length;
        if (length > CAPACITY - filled) {
            writeOut();
        }
        if (length > CAPACITY) {
            throw new IOException("a line of " + length + " bytes is too long");
        }
        System.arraycopy(ascii, 0, bytes, filled, length);
        filled += length;
    }

    private void writeOut() throws IOException {
        if (filled == 0) {
            return;
        }
        try {
            file.write(bytes, filled, position);
        } catch (Throwable e) {
            removeRest();
            throw e;
        }
        position += filled;
        filled = 0;
    }

    /** Removes the part of the lines that a failed call has written. */
    private void removeRest() {
        try {
            file.truncate(position);
        } catch (Throwable e) {
            // The next call overwrites it.
        }
    }

    @Override
    public void flush() throws IOException {
        if (isClosed) {
            throw new IOException("the log is closed");
        }
        writeOut();
    }

    @Override
    public void close() throws IOException {
        if (!isClosed) {
            writeOut();
            isClosed = true;
        }
        file.close();
    }
}
