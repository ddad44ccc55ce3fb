package allocator.trace;

import allocator.spi.OptionKey;
import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;

/**
 * Reads a trace as a stream of events: plain or gzip, detected from the first bytes.
 *
 * <p>Besides a fixed buffer it keeps the ids seen so far, in a few dozen bytes each, so that every free can be checked;
 * it creates no object per line. An invalid line throws {@link TraceException}; the events before it have been
 * delivered by then.
 */
public final class TraceReader {
    /** The first line of every trace. */
    public static final String HEADER = "op,id,bytes,stream";

    /** No valid line is longer; four numbers need far less. */
    private static final int MAX_LINE = 256;

    /** In {@link #slots}, marks an id whose block is freed. */
    private static final int FREED = -2;

    private static final int FIELDS = 4;

    private final String name;
    private final InputStream in;
    private final TraceSink sink;
    private final boolean isUnfinished;
    private final byte[] buffer = new byte[1 << 16];
    private final int[] fieldStart = new int[FIELDS + 1];
    private final LongIntMap slots = new LongIntMap();
    private final BlockTable blocks = new BlockTable();
    private long line;
    private long blankLine;

    private TraceReader(String name, InputStream in, TraceSink sink, boolean isUnfinished) {
        this.name = name;
        this.in = in;
        this.sink = sink;
        this.isUnfinished = isUnfinished;
    }

    /**
     * Reads a file. One whose name ends in {@code .part} is what a process left that ended while it wrote: it is read
     * as far as its lines are whole.
     *
     * @param file the trace
     * @param sink receives the events
     * @throws TraceException if the file cannot be read or is not a trace
     */
    public static void read(Path file, TraceSink sink) throws TraceException {
        final String name = file.toString();
        if (name.isEmpty()) {
            throw new TraceException("''", 0, "the name is empty", null);
        }
        if (Files.isDirectory(file)) {
            throw new TraceException(name, 0, "is a directory, not a trace", null);
        }
        try (InputStream in = Files.newInputStream(file)) {
            read(name, in, sink, name.endsWith(AtomicFile.PART));
        } catch (TraceException e) {
            throw e;
        } catch (NoSuchFileException e) {
            throw new TraceException(name, 0, "no such file", e);
        } catch (AccessDeniedException e) {
            throw new TraceException(name, 0, "permission denied", e);
        } catch (IOException e) {
            throw new TraceException(name, 0, "cannot be read: " + e.getMessage(), e);
        }
    }

    /**
     * Reads an input stream to its end.
     *
     * @param name the trace's name in messages
     * @param in the bytes; not closed
     * @param sink receives the events
     * @throws TraceException if the bytes cannot be read or are not a trace
     */
    public static void read(String name, InputStream in, TraceSink sink) throws TraceException {
        read(name, in, sink, false);
    }

    private static void read(String name, InputStream in, TraceSink sink, boolean isUnfinished) throws TraceException {
        long line = 0;
        try {
            final InputStream buffered = new BufferedInputStream(in);
            buffered.mark(2);
            final boolean isGzip = buffered.read() == 0x1f && buffered.read() == 0x8b;
            buffered.reset();
            final TraceReader reader = new TraceReader(
                    name, isGzip ? new GZIPInputStream(buffered, 1 << 16) : buffered, sink, isUnfinished);
            try {
                reader.readLines();
            } finally {
                line = reader.line;
            }
        } catch (TraceException e) {
            throw e;
        } catch (EOFException e) {
            if (isUnfinished && line > 0) {
                return;
            }
            throw new TraceException(name, 0, "the gzip data is truncated" + after(line), e);
        } catch (ZipException e) {
            throw new TraceException(name, 0, "the gzip data is damaged" + after(line) + ": " + e.getMessage(), e);
        } catch (IOException e) {
            throw new TraceException(name, 0, "cannot be read: " + e.getMessage(), e);
        }
    }

    private static String after(long line) {
        return line == 0 ? "" : " after line " + line;
    }

    private void readLines() throws IOException {
        int from = 0;
        int to = 0;
        while (true) {
            final int count = in.read(buffer, to, buffer.length - to);
            if (count < 0) {
                break;
            }
            to += count;
            from = takeLines(from, to);
            if (to - from > MAX_LINE) {
                line++;
                throw error("the line is longer than " + MAX_LINE + " bytes: " + quote(from, to));
            }
            System.arraycopy(buffer, from, buffer, 0, to - from);
            to -= from;
            from = 0;
        }
        if (to > 0 && !isUnfinished) {
            takeLine(0, to);
        }
        if (line == 0) {
            throw new TraceException(name, 0, "the file is empty, the line " + HEADER + " is missing", null);
        }
    }

    /** Parses the complete lines of the buffer; returns where the incomplete one begins. */
    private int takeLines(int from, int to) throws TraceException {
        int start = from;
        for (int i = from; i < to; i++) {
            if (buffer[i] == '\n') {
                takeLine(start, i > start && buffer[i - 1] == '\r' ? i - 1 : i);
                start = i + 1;
            }
        }
        return start;
    }

    private void takeLine(int from, int to) throws TraceException {
        line++;
        if (line == 1) {
            takeHeader(from, to);
        } else if (from == to) {
            blankLine = blankLine == 0 ? line : blankLine;
        } else if (blankLine != 0) {
            line = blankLine;
            throw error("the line is empty");
        } else {
            takeEvent(from, to);
        }
    }

    private void takeHeader(int from, int to) throws TraceException {
        final boolean hasMark = to - from >= 3
                && buffer[from] == (byte) 0xEF
                && buffer[from + 1] == (byte) 0xBB
                && buffer[from + 2] == (byte) 0xBF;
        final int start = hasMark ? from + 3 : from;
        if (!HEADER.equals(new String(buffer, start, to - start, StandardCharsets.ISO_8859_1))) {
            throw error("the header is " + quote(start, to) + ", it must be " + HEADER);
        }
    }

    private void takeEvent(int from, int to) throws TraceException {
        splitFields(from, to);
        final boolean isReserve = fieldIs('r');
        final boolean isAllocation = isReserve || fieldIs('a');
        if (!isAllocation && !fieldIs('f')) {
            throw error("unknown op " + field(0) + ", it must be a, r or f");
        }
        final long id = number(1, "id", Long.MAX_VALUE);
        final long byteSize = number(2, "bytes", OptionKey.MAX_SIZE);
        final int stream = (int) number(3, "stream", Integer.MAX_VALUE);
        final int slot = slots.get(id);
        if (isAllocation) {
            if (slot >= 0) {
                throw error("block " + id + " is allocated again while it lives");
            }
            final int added = blocks.add(id, byteSize, stream);
            slots.put(id, added);
            if (isReserve) {
                sink.reserve(id, added, byteSize, stream);
            } else {
                sink.allocation(id, added, byteSize, stream);
            }
        } else {
            if (slot < 0) {
                throw error("block " + id + (slot == FREED ? " is freed twice" : " is freed before it is allocated"));
            }
            slots.put(id, FREED);
            blocks.remove(slot);
            sink.free(id, slot, blocks.byteSize(slot), blocks.stream(slot));
        }
    }

    /** Finds where each field begins; field {@code i} ends one byte before the next begins. */
    private void splitFields(int from, int to) throws TraceException {
        int fields = 1;
        fieldStart[0] = from;
        for (int i = from; i < to; i++) {
            if (buffer[i] == ',') {
                if (fields < FIELDS) {
                    fieldStart[fields] = i + 1;
                }
                fields++;
            }
        }
        if (fields != FIELDS) {
            throw error((fields < FIELDS ? "a field is missing: " : "there are too many fields: ") + quote(from, to)
                    + " has " + fields + " of " + HEADER);
        }
        fieldStart[FIELDS] = to + 1;
    }

    private boolean fieldIs(char op) {
        return fieldStart[1] - fieldStart[0] == 2 && buffer[fieldStart[0]] == op;
    }

    private String field(int index) throws TraceException {
        return quote(fieldStart[index], fieldStart[index + 1] - 1);
    }

    private long number(int index, String what, long max) throws TraceException {
        final int from = fieldStart[index];
        final int to = fieldStart[index + 1] - 1;
        if (from == to) {
            throw error(what + " is missing");
        }
        long value = 0;
        boolean isTooLarge = false;
        for (int i = from; i < to; i++) {
            final int digit = buffer[i] - '0';
            if (digit < 0 || digit > 9) {
                throw error(what
                        + (buffer[from] == '-' && isNumber(from + 1, to) ? " is negative: " : " is no number: ")
                        + field(index));
            }
            isTooLarge |= value > (max - digit) / 10;
            value = 10 * value + digit;
        }
        if (isTooLarge) {
            throw error(what + " is above " + max + ": " + field(index));
        }
        return value;
    }

    private boolean isNumber(int from, int to) {
        for (int i = from; i < to; i++) {
            if (buffer[i] < '0' || buffer[i] > '9') {
                return false;
            }
        }
        return from < to;
    }

    /** Quotes part of the file for a message: on one line, truncated if it is long. */
    private String quote(int from, int to) throws TraceException {
        final int length = Math.min(to - from, 60);
        final ByteBuffer bytes =
                ByteBuffer.wrap(buffer, from, length < to - from ? completeLength(from, length) : length);
        final StringBuilder text = new StringBuilder("'");
        try {
            StandardCharsets.UTF_8.newDecoder().decode(bytes).codePoints().forEach(c -> {
                if (Character.isISOControl(c)) {
                    text.append(String.format("\\u%04x", c));
                } else {
                    text.appendCodePoint(c);
                }
            });
        } catch (CharacterCodingException e) {
            throw new TraceException(name, line, "this is not UTF-8 text", e);
        }
        return text.append(length < to - from ? "…'" : "'").toString();
    }

    /** Returns the largest length up to {@code length} that cuts no UTF-8 character. */
    private int completeLength(int from, int length) {
        int end = length;
        while (end > 0 && (buffer[from + end] & 0xC0) == 0x80) {
            end--;
        }
        return end;
    }

    private TraceException error(String reason) {
        return new TraceException(name, line, reason, null);
    }
}
