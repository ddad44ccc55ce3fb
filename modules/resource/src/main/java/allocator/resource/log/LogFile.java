package allocator.resource.log;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Path;

/** The file of a log. An interrupt of the calling thread has no effect on it, as it would on a channel. */
final class LogFile implements FileLines.Target {
    private final RandomAccessFile file;

    /** Starts an empty file, which replaces one that exists. */
    LogFile(Path path) throws IOException {
        file = new RandomAccessFile(path.toFile(), "rw");
        file.setLength(0);
    }

    @Override
    public void write(byte[] from, int length, long position) throws IOException {
        file.seek(position);
        file.write(from, 0, length);
    }

    @Override
    public void truncate(long size) throws IOException {
        file.setLength(size);
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
