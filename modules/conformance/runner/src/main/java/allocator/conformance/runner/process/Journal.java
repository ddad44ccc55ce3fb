package allocator.conformance.runner.process;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputFilter;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A file of messages that one process appends and another one reads at the same time. What is written stays, however
 * the writer ends. A message that is written in part is not read. Thread-safe.
 */
public final class Journal implements AutoCloseable {
    private static final ObjectInputFilter OWN_TYPES =
            ObjectInputFilter.Config.createFilter("allocator.conformance.**;java.base/*;!*");

    private static final int PAGE = 4096;

    /** More than all messages of a run take. */
    private static final int MOST_UNREAD = 64 << 20;

    private final FileChannel file;
    private ByteBuffer unread = ByteBuffer.allocate(1 << 16).flip();

    private Journal(FileChannel file) {
        this.file = file;
    }

    /** Opens a journal to append to; creates the file if there is none. */
    public static Journal append(Path file) throws IOException {
        return new Journal(FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.APPEND));
    }

    /** Opens a journal to read; creates the file if there is none. */
    public static Journal read(Path file) throws IOException {
        return new Journal(
                FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE));
    }

    /** Appends a message. */
    public synchronized void write(Serializable message) throws IOException {
        final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream objects = new ObjectOutputStream(bytes)) {
            objects.writeObject(message);
        }
        final ByteBuffer frame = ByteBuffer.allocate(Integer.BYTES + bytes.size());
        frame.putInt(bytes.size()).put(bytes.toByteArray()).flip();
        while (frame.hasRemaining()) {
            file.write(frame);
        }
    }

    /**
     * Returns the messages that were appended since the last call, at most up to what is no message: the next call then
     * throws.
     *
     * @throws IOException if what was appended next is no message
     */
    public synchronized List<Object> next() throws IOException {
        final long fresh = file.size() - file.position();
        final int room = MOST_UNREAD - unread.remaining();
        fill(Math.min(fresh, room));
        final List<Object> messages = new ArrayList<>();
        try {
            while (unread.remaining() >= Integer.BYTES
                    && unread.remaining() - Integer.BYTES >= unread.getInt(unread.position())) {
                unread.mark();
                messages.add(parse(unread));
            }
        } catch (IOException | RuntimeException e) {
            if (messages.isEmpty() && fresh > room) {
                throw tooMuch(fresh, e);
            }
            if (messages.isEmpty()) {
                throw e;
            }
            unread.reset();
        }
        if (messages.isEmpty() && fresh > room) {
            throw tooMuch(fresh, null);
        }
        return messages;
    }

    private static IOException tooMuch(long byteSize, @Nullable Exception cause) {
        return new IOException("the journal has " + byteSize + " bytes that are no messages", cause);
    }

    private void fill(long fresh) throws IOException {
        if (fresh <= 0) {
            return;
        }
        final ByteBuffer all = ByteBuffer.allocate(Math.toIntExact(unread.remaining() + fresh));
        all.put(unread);
        while (all.hasRemaining() && file.read(all) >= 0) {
            // Until all of it is read.
        }
        unread = all.flip();
    }

    /** Checks that the file can grow, by appending a page to it; what is read from it next is no message. */
    synchronized void requireRoom() throws IOException {
        final ByteBuffer page = ByteBuffer.allocate(PAGE);
        while (page.hasRemaining()) {
            file.write(page, file.size());
        }
    }

    /** Takes a message out of a buffer that has all of it. */
    private static Object parse(ByteBuffer from) throws IOException {
        final byte[] bytes = new byte[from.getInt()];
        from.get(bytes);
        try (ObjectInputStream objects = new ObjectInputStream(new ByteArrayInputStream(bytes))) {
            objects.setObjectInputFilter(OWN_TYPES);
            return objects.readObject();
        } catch (ClassNotFoundException e) {
            throw new IOException("a message is of no known type", e);
        }
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
