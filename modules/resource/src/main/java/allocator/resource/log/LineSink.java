package allocator.resource.log;

import java.io.IOException;
import java.io.Writer;

/** Where the lines of a log go. Guarded by the log. */
interface LineSink {
    /**
     * Takes a line.
     *
     * @param line its text, in ASCII, without a line feed
     * @throws IOException as anything else that is thrown: nothing of the line is taken
     */
    void write(CharSequence line) throws IOException;

    /** Passes all lines on that were taken before. */
    void flush() throws IOException;

    /** Passes all lines on, and takes no more. If it throws, another call does what is left. */
    void close() throws IOException;

    /** Writes each line with one call of a writer. */
    record ToWriter(Writer out) implements LineSink {
        @Override
        public void write(CharSequence line) throws IOException {
            out.write(line.toString() + '\n');
        }

        @Override
        public void flush() throws IOException {
            out.flush();
        }

        @Override
        public void close() throws IOException {
            out.close();
        }
    }
}
