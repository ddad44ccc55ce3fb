package allocator.resource;

import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * A log in the format of the RAPIDS Memory Manager: CSV with the columns
 * {@code Thread,Time,Action,Pointer,Size,Stream}, so that its tools read what is logged here, and what it logged is
 * replayed here.
 *
 * <p>The time is the local time of day to the microsecond; pointers and streams are hexadecimal. Closing the log closes
 * the writer.
 */
public final class RmmLog extends LineLog {
    private static final String HEADER = "Thread,Time,Action,Pointer,Size,Stream";
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("HH:mm:ss.SSSSSS", Locale.ROOT);

    /** What happened. */
    public enum Action {
        /** Memory was allocated. */
        ALLOCATE("allocate"),
        /** An allocation failed. */
        ALLOCATE_FAILURE("allocate failure"),
        /** Memory was deallocated. */
        FREE("free");

        private final String text;

        Action(String text) {
            this.text = text;
        }
    }

    /**
     * A line of a log.
     *
     * @param thread who called
     * @param action what happened
     * @param address the memory's address
     * @param byteSize its size in bytes
     * @param stream the stream's handle, {@code 0} for none or the default
     */
    public record Entry(long thread, Action action, long address, long byteSize, long stream) {}

    /**
     * What a replay came to.
     *
     * @param allocations allocations that succeeded
     * @param failures allocations that failed here, whether or not they failed in the log
     * @param frees deallocations
     * @param unknownFrees deallocations in the log of memory that was not allocated in it
     * @param peakBytes the most bytes that were live
     * @param bytesAtEnd bytes that the log never freed; they were deallocated when the replay ended
     */
    public record Replay(
            long allocations, long failures, long frees, long unknownFrees, long peakBytes, long bytesAtEnd) {}

    /**
     * Begins a log.
     *
     * @param out where it goes
     * @throws UncheckedIOException if the header cannot be written
     */
    public RmmLog(Writer out) {
        super(out, HEADER);
    }

    /**
     * Begins a log in a file, which is replaced if it exists.
     *
     * @param file the file
     * @return the log
     * @throws IOException if it cannot be written
     */
    public static RmmLog to(Path file) throws IOException {
        return new RmmLog(Files.newBufferedWriter(file));
    }

    @Override
    public void allocated(long address, long byteSize, @Nullable SyncStream stream) {
        write(Action.ALLOCATE, address, byteSize, stream);
    }

    @Override
    public void failed(long byteSize, @Nullable SyncStream stream) {
        write(Action.ALLOCATE_FAILURE, 0, byteSize, stream);
    }

    @Override
    public void freed(long address, long byteSize, @Nullable SyncStream stream) {
        write(Action.FREE, address, byteSize, stream);
    }

    private void write(Action action, long address, long byteSize, @Nullable SyncStream stream) {
        lock.lock();
        try {
            final StringBuilder line = new StringBuilder(96);
            line.append(Thread.currentThread().threadId()).append(',');
            TIME.formatTo(LocalTime.now(ZoneId.systemDefault()), line);
            line.append(',').append(action.text);
            line.append(",0x").append(Long.toHexString(address));
            line.append(',').append(byteSize);
            line.append(",0x").append(Long.toHexString(stream == null ? 0 : stream.handle()));
            write(line);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Reads a log.
     *
     * @param file the file
     * @return its lines in order
     * @throws IOException if it cannot be read
     * @throws IllegalArgumentException if a line is malformed; the message names file, line and reason
     */
    public static List<Entry> read(Path file) throws IOException {
        try (Reader in = Files.newBufferedReader(file)) {
            return read(in, file.toString());
        }
    }

    /**
     * Reads a log.
     *
     * @param in the text
     * @param name what it is called in messages
     * @return its lines in order
     * @throws IOException if it cannot be read
     * @throws IllegalArgumentException if a line is malformed; the message names the text, line and reason
     */
    public static List<Entry> read(Reader in, String name) throws IOException {
        final BufferedReader lines = new BufferedReader(in);
        final String header = lines.readLine();
        if (header == null) {
            throw new IllegalArgumentException(name + ":1: the header " + HEADER + " is missing");
        }
        final Columns columns = new Columns(header, name);
        final List<Entry> entries = new ArrayList<>();
        int number = 1;
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            number++;
            if (!line.isBlank()) {
                entries.add(columns.entry(line, name + ":" + number));
            }
        }
        return entries;
    }

    /** Where the columns are; a log is read by their names, as the format's own tools do. */
    private static final class Columns {
        private final int thread;
        private final int action;
        private final int pointer;
        private final int size;
        private final int stream;
        private final int count;

        Columns(String header, String name) {
            final List<String> names = List.of(header.split(",", -1));
            thread = index(names, "Thread", name);
            action = index(names, "Action", name);
            pointer = index(names, "Pointer", name);
            size = index(names, "Size", name);
            stream = index(names, "Stream", name);
            count = names.size();
        }

        private static int index(List<String> names, String column, String name) {
            final int index = names.indexOf(column);
            if (index < 0) {
                throw new IllegalArgumentException(name + ":1: there is no column " + column + " in " + names);
            }
            return index;
        }

        Entry entry(String line, String place) {
            final String[] cells = line.split(",", -1);
            if (cells.length != count) {
                throw new IllegalArgumentException(place + ": " + cells.length + " columns instead of " + count);
            }
            final Entry entry = new Entry(
                    number(cells[thread], 10, "thread", place),
                    action(cells[action], place),
                    address(cells[pointer], "pointer", place),
                    number(cells[size], 10, "size", place),
                    address(cells[stream], "stream", place));
            if (entry.byteSize < 0) {
                throw new IllegalArgumentException(place + ": size " + entry.byteSize + " is negative");
            }
            return entry;
        }

        private static Action action(String text, String place) {
            for (Action action : Action.values()) {
                if (action.text.equals(text)) {
                    return action;
                }
            }
            throw new IllegalArgumentException(place + ": action '" + text + "' is not known");
        }

        /** Hexadecimal with {@code 0x}; old versions print {@code (nil)} for none and streams as decimals. */
        private static long address(String text, String what, String place) {
            if (text.equals("(nil)")) {
                return 0;
            }
            return text.startsWith("0x") ? number(text.substring(2), 16, what, place) : number(text, 10, what, place);
        }

        private static long number(String text, int radix, String what, String place) {
            try {
                return radix == 16 ? Long.parseUnsignedLong(text, radix) : Long.parseLong(text, radix);
            } catch (NumberFormatException e) {
                throw new IllegalArgumentException(place + ": " + what + " '" + text + "' is not a number", e);
            }
        }
    }

    /**
     * Repeats a log on a resource, in the log's order, without streams.
     *
     * @param entries the lines of the log
     * @param resource where the memory comes from
     * @return what it came to
     */
    public static Replay replay(List<Entry> entries, MemoryResource resource) {
        return replay(entries, StreamOrderedMemoryResource.of(resource), handle -> null);
    }

    /**
     * Repeats a log on a resource, in the log's order. What is live in the end is deallocated; use on the streams is
     * then the caller's to have finished.
     *
     * @param entries the lines of the log
     * @param resource where the memory comes from
     * @param streams the stream that stands for a handle of the log, {@code null} for none
     * @return what it came to
     */
    public static Replay replay(
            List<Entry> entries, StreamOrderedMemoryResource resource, LongFunction<@Nullable SyncStream> streams) {
        final Replayer replayer = new Replayer(resource, streams);
        try {
            entries.forEach(replayer::repeat);
        } finally {
            replayer.end();
        }
        return replayer.result();
    }

    private static final class Replayer {
        private final StreamOrderedMemoryResource resource;
        private final LongFunction<@Nullable SyncStream> streams;

        /** What is live here, by its address in the log. */
        private final Map<Long, Block> live = new HashMap<>();

        private long allocations;
        private long failures;
        private long frees;
        private long unknownFrees;
        private long bytes;
        private long peakBytes;
        private long bytesAtEnd;

        private record Block(long address, long byteSize) {}

        Replayer(StreamOrderedMemoryResource resource, LongFunction<@Nullable SyncStream> streams) {
            this.resource = resource;
            this.streams = streams;
        }

        void repeat(Entry entry) {
            switch (entry.action) {
                case ALLOCATE -> allocate(entry);
                case FREE -> free(entry);
                case ALLOCATE_FAILURE -> failures++;
            }
        }

        private void allocate(Entry entry) {
            if (entry.address == 0) {
                return;
            }
            final long byteAlignment = resource.memory().byteAlignment();
            final SyncStream stream = streams.apply(entry.stream);
            try {
                final long address = stream == null
                        ? resource.allocate(entry.byteSize, byteAlignment)
                        : resource.allocate(entry.byteSize, byteAlignment, stream);
                live.put(entry.address, new Block(address, entry.byteSize));
                allocations++;
                bytes += entry.byteSize;
                peakBytes = Math.max(peakBytes, bytes);
            } catch (OutOfMemoryException e) {
                failures++;
            }
        }

        private void free(Entry entry) {
            final Block block = live.remove(entry.address);
            if (block == null) {
                unknownFrees++;
                return;
            }
            frees++;
            deallocate(block, streams.apply(entry.stream));
        }

        private void deallocate(Block block, @Nullable SyncStream stream) {
            bytes -= block.byteSize;
            final long byteAlignment = resource.memory().byteAlignment();
            if (stream == null) {
                resource.deallocate(block.address, block.byteSize, byteAlignment);
            } else {
                resource.deallocate(block.address, block.byteSize, byteAlignment, stream);
            }
        }

        void end() {
            bytesAtEnd = bytes;
            live.values().forEach(block -> deallocate(block, null));
            live.clear();
        }

        Replay result() {
            return new Replay(allocations, failures, frees, unknownFrees, peakBytes, bytesAtEnd);
        }
    }

    /**
     * Turns a log into a trace of this project, {@code op,id,bytes,stream}. Blocks and streams are numbered in order of
     * appearance; allocations that failed, and deallocations of memory from before the log, are left out.
     *
     * @param entries the lines of the log
     * @param out where the trace goes; stays open
     * @throws IOException if it cannot be written
     */
    public static void writeTrace(List<Entry> entries, Writer out) throws IOException {
        final Map<Long, Long> ids = new HashMap<>();
        final Map<Long, Integer> streams = new HashMap<>();
        long nextId = 0;
        out.write(TraceLog.HEADER + "\n");
        for (Entry entry : entries) {
            if (entry.action == Action.ALLOCATE_FAILURE || entry.address == 0) {
                continue;
            }
            final boolean isFree = entry.action == Action.FREE;
            final Long id = isFree ? ids.remove(entry.address) : Long.valueOf(nextId++);
            if (id != null) {
                if (!isFree) {
                    ids.put(entry.address, id);
                }
                final int stream = streams.computeIfAbsent(entry.stream, key -> streams.size());
                out.write(TraceLog.line(isFree, id, entry.byteSize, stream) + "\n");
            }
        }
    }
}
