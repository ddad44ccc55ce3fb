package allocator.resource.log;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * The file of a log. An interrupt of the calling thread stays pending and has no effect on the file, although it closes
 * a channel: the file is opened again then.
 */
final class LogFile implements FileLines.Target {
    private final Path file;
    private FileChannel channel;

    /** Starts an empty file, which replaces one that exists. */
    LogFile(Path file) throws IOException {
        this.file = file;
        channel = FileChannel.open(
                file, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE);
    }

    @Override
    public void write(byte[] from, int length, long position) throws IOException {
        uninterrupted(position, () -> {
            final ByteBuffer left = ByteBuffer.wrap(from, 0, length);
            while (left.hasRemaining()) {
                channel.write(left, position + left.position());
            }
        });
    }

    @Override
    public void truncate(long size) throws IOException {
        uninterrupted(size, () -> channel.truncate(size));
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }

    private interface Action {
        void run() throws IOException;
    }

    private void uninterrupted(long leastSize, Action action) throws IOException {
        boolean wasInterrupted = Thread.interrupted();
        boolean isDone = false;
        try {
            while (!isDone) {
                try {
                    openAgain(leastSize);
                    action.run();
                    isDone = true;
                } catch (ClosedByInterruptException e) {
                    wasInterrupted |= Thread.interrupted();
                }
            }
        } finally {
            if (wasInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Opens the file again if an interrupt has closed it. */
    private void openAgain(long leastSize) throws IOException {
        if (channel.isOpen()) {
            return;
        }
        channel = FileChannel.open(file, StandardOpenOption.WRITE);
        if (channel.size() < leastSize) {
            channel.close();
            throw new IOException(file + " is another file now");
        }
    }
}
