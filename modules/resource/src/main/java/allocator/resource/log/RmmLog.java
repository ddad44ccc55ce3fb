package allocator.resource.log;

import allocator.resource.MemoryResource;
import allocator.resource.StreamOrderedMemoryResource;
import allocator.spi.OptionKey;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.function.LongFunction;
import java.util.zip.GZIPInputStream;
import org.jspecify.annotations.Nullable;

/**
 * A log in the CSV format of the RAPIDS Memory Manager (RMM), with the columns
 * {@code Thread,Time,Action,Pointer,Size,Stream}. RMM's tools can read it, and logs written by RMM can be read and
 * replayed here.
 *
 * <p>The time is the local time of day in microseconds; pointers and streams are hexadecimal. Closing the log closes
 * the file or writer.
 */
public final class RmmLog extends LineLog {
    static final String HEADER = "Thread,Time,Action,Pointer,Size,Stream";
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("HH:mm:ss.SSSSSS", Locale.ROOT);

    /** The action of a log entry. */
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

        String text() {
            return text;
        }
    }

    /**
     * One line of a log.
     *
     * @param thread the id of the calling thread
     * @param action the action
     * @param address the memory's address
     * @param byteSize its size in bytes
     * @param stream the stream's handle, {@code 0} for none or the default
     */
    public record Entry(long thread, Action action, long address, long byteSize, long stream) {}

    /**
     * The result of a replay.
     *
     * @param allocations number of allocations that succeeded
     * @param failures number of allocations that failed in the replay, and of those that failed in the log
     * @param frees number of deallocations
     * @param unknownFrees number of deallocations of memory that the log does not allocate
     * @param peakBytes the most live bytes
     * @param bytesAtEnd bytes that the log does not free; the replay deallocates them at its end
     */
    public record Replay(
            long allocations, long failures, long frees, long unknownFrees, long peakBytes, long bytesAtEnd) {}

    /** Receives the events of a trace, in order. */
    public interface TraceEvents {
        /**
         * Receives an allocation.
         *
         * @param id the block's number, in order of allocation
         * @param byteSize size in bytes
         * @param stream the stream's number, in order of appearance
         * @throws IOException if it cannot be written
         */
        void allocation(long id, long byteSize, int stream) throws IOException;

        /**
         * Receives the free of a live block.
         *
         * @param id the block's number
         * @param byteSize its size in bytes, as allocated
         * @param stream the number of the stream on which it is freed
         * @throws IOException if it cannot be written
         */
        void free(long id, long byteSize, int stream) throws IOException;
    }

    /**
     * What became of the entries of a log in a trace.
     *
     * @param allocations number of allocations in the trace
     * @param frees number of deallocations of the log in the trace
     * @param addedFrees number of deallocations that the log lacks: its address was allocated again
     * @param failures number of failed allocations, which are left out
     * @param unknownFrees number of deallocations of memory that the log does not allocate, which are left out
     * @param otherSizes number of deallocations in the trace whose size in the log is not that of the allocation
     */
    public record Conversion(
            long allocations, long frees, long addedFrees, long failures, long unknownFrees, long otherSizes) {}

    /**
     * Starts a log.
     *
     * @param out receives the lines, each with one call. If it throws, it must have taken nothing of the line: a
     *     buffered writer may keep a part of it; {@link #to} does not
     * @throws UncheckedIOException if the header cannot be written
     */
    public RmmLog(Writer out) {
        super(out, HEADER);
    }

    /**
     * Starts a log in a file, which is replaced if it exists. Lines are collected and written many at once. What cannot
     * be written is written later; lines are dropped once 64 KiB of them are waiting. A failed write is undone, so the
     * file has whole lines, unless the process ends in the middle of a write.
     *
     * @param file the file, in the default file system
     * @return the log
     * @throws IOException if the file cannot be opened
     */
    public static RmmLog to(Path file) throws IOException {
        return new RmmLog(new FileLines(new LogFile(file)));
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
        synchronized (lock) {
            final StringBuilder line;
            try {
                line = new StringBuilder(96);
                line.append(Thread.currentThread().threadId()).append(',');
                TIME.formatTo(LocalTime.now(ZoneId.systemDefault()), line);
                line.append(',').append(action.text);
                line.append(",0x").append(Long.toHexString(address));
                line.append(',').append(byteSize);
                line.append(",0x").append(Long.toHexString(stream == null ? 0 : stream.handle()));
            } catch (Throwable e) {
                drop();
                return;
            }
            write(line);
        }
    }

    /**
     * Reads a log from a file.
     *
     * @param file the file
     * @return its entries in order
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
     * @param name its name in messages
     * @return its entries in order
     * @throws IOException if it cannot be read
     * @throws IllegalArgumentException if a line is malformed; the message names the text, line and reason
     */
    public static List<Entry> read(Reader in, String name) throws IOException {
        return RmmReader.read(in, name, null);
    }

    /**
     * Reads a log as a process may leave it: plain or gzip, cut off at the end, with other text between its lines and
     * up to 1,000 lines of it before the header, or several logs one after the other. A wrong value in a line of the
     * log is an error, except in the last line.
     *
     * @param file the file
     * @param leftOut receives a sentence for each line that is left out, with file, line and reason, and one for gzip
     *     data that is cut off
     * @return its entries in order
     * @throws IOException if it cannot be read
     * @throws IllegalArgumentException if the header is missing or a line is malformed
     */
    public static List<Entry> read(Path file, Consumer<String> leftOut) throws IOException {
        try (InputStream in = new BufferedInputStream(Files.newInputStream(file))) {
            in.mark(2);
            final boolean isGzip = in.read() == 0x1f && in.read() == 0x8b;
            in.reset();
            final CutInput text = new CutInput(isGzip ? new GZIPInputStream(in) : in);
            final Reader lines = new InputStreamReader(text, StandardCharsets.UTF_8.newDecoder());
            final List<Entry> entries = RmmReader.read(lines, file.toString(), leftOut);
            if (text.isCut) {
                leftOut.accept(file + ": the gzip data is cut off; its rest is left out");
            }
            return entries;
        }
    }

    /** Ends where compressed data is cut off. */
    private static final class CutInput extends FilterInputStream {
        private boolean isCut;

        CutInput(InputStream in) {
            super(in);
        }

        @Override
        public int read(byte[] bytes, int from, int length) throws IOException {
            try {
                return isCut ? -1 : super.read(bytes, from, length);
            } catch (EOFException e) {
                isCut = true;
                return -1;
            }
        }
    }

    /**
     * Replays a log on a resource, in order, without streams. At the end it deallocates what is still live.
     *
     * @param entries the entries of the log
     * @param resource where the memory comes from
     * @return the result
     */
    public static Replay replay(List<Entry> entries, MemoryResource resource) {
        return replay(entries, StreamOrderedMemoryResource.of(resource), handle -> null);
    }

    /**
     * Replays a log on a resource, in order. At the end it deallocates what is still live, without a stream: no work
     * that uses the memory may be incomplete then. If the log allocates an address again whose deallocation it lacks,
     * the earlier block is deallocated first, and not counted. If the resource throws anything but
     * {@link OutOfMemoryException}, the replay ends with that exception, after the same deallocations.
     *
     * @param entries the entries of the log
     * @param resource where the memory comes from
     * @param streams returns the stream to use for a stream handle of the log, {@code null} for none
     * @return the result
     */
    public static Replay replay(
            List<Entry> entries, StreamOrderedMemoryResource resource, LongFunction<@Nullable SyncStream> streams) {
        final RmmReplayer replayer = new RmmReplayer(resource, streams);
        try {
            entries.forEach(replayer::replay);
        } catch (RuntimeException | Error e) {
            replayer.endAfter(e);
            throw e;
        }
        replayer.end();
        return replayer.result();
    }

    /**
     * Writes a log as a trace of this project, {@code op,id,bytes,stream}. Blocks and streams are numbered in order of
     * appearance. Failed allocations and deallocations of memory from before the log are left out. A block whose
     * address is allocated again without a deallocation is freed before that.
     *
     * @param entries the entries of the log
     * @param out receives the trace; stays open
     * @return what became of the entries
     * @throws IllegalArgumentException if a block is larger than a trace can say, {@link OptionKey#MAX_SIZE}, or has a
     *     negative size; nothing is written then
     * @throws IOException if writing fails
     */
    public static Conversion writeTrace(List<Entry> entries, Writer out) throws IOException {
        return RmmTrace.write(entries, out);
    }

    /**
     * Converts a log to the events of a trace, as {@link #writeTrace} writes them; for other writers of traces.
     *
     * @param entries the entries of the log
     * @param events receives the events
     * @return what became of the entries
     * @throws IllegalArgumentException as {@link #writeTrace}; there was no event then
     * @throws IOException if {@code events} throws it
     */
    public static Conversion toTrace(List<Entry> entries, TraceEvents events) throws IOException {
        return RmmTrace.convert(entries, events);
    }
}
