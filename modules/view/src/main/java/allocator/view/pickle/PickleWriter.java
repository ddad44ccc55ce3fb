package allocator.view.pickle;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * Writes a value in Python's pickle format, protocol 2, with the opcodes that the viewer of PyTorch's memory snapshots
 * knows: dictionaries, lists, tuples of two, numbers, truth values and texts. A text is written once, and later by its
 * number. The caller keeps keys and values in turn.
 */
public final class PickleWriter {
    private static final int PROTO = 0x80;
    private static final int STOP = '.';
    private static final int MARK = '(';
    private static final int EMPTY_DICT = '}';
    private static final int SETITEMS = 'u';
    private static final int EMPTY_LIST = ']';
    private static final int APPENDS = 'e';
    private static final int TUPLE2 = 0x86;
    private static final int BININT = 'J';
    private static final int BININT1 = 'K';
    private static final int BININT2 = 'M';
    private static final int LONG1 = 0x8a;
    private static final int NEWTRUE = 0x88;
    private static final int NEWFALSE = 0x89;
    private static final int BINUNICODE = 'X';
    private static final int BINPUT = 'q';
    private static final int LONG_BINPUT = 'r';
    private static final int BINGET = 'h';
    private static final int LONG_BINGET = 'j';

    /** The most items of a list that are added at once, as Python does. */
    private static final int BATCH = 1000;

    private final OutputStream out;
    private final Map<String, Integer> memo = new HashMap<>();

    /** Begins a pickle; {@code out} is not closed. */
    public PickleWriter(OutputStream out) throws IOException {
        this.out = out;
        out.write(PROTO);
        out.write(2);
    }

    /** Writes a part of the value. */
    @FunctionalInterface
    public interface Part {
        void write() throws IOException;
    }

    /** Writes an element of a list. */
    @FunctionalInterface
    public interface Element<T> {
        void write(T item) throws IOException;
    }

    /** Writes a dictionary of keys and values, which are written in turn. */
    public void dictionary(Part items) throws IOException {
        out.write(EMPTY_DICT);
        out.write(MARK);
        items.write();
        out.write(SETITEMS);
    }

    /** Writes a list, an element for each item. */
    public <T> void list(Iterable<T> items, Element<T> element) throws IOException {
        out.write(EMPTY_LIST);
        int count = 0;
        for (final T item : items) {
            if (count % BATCH == 0) {
                if (count > 0) {
                    out.write(APPENDS);
                }
                out.write(MARK);
            }
            element.write(item);
            count++;
        }
        if (count > 0) {
            out.write(APPENDS);
        }
    }

    /** Writes a tuple of two numbers. */
    public void pair(long first, long second) throws IOException {
        number(first);
        number(second);
        out.write(TUPLE2);
    }

    public void number(long value) throws IOException {
        if (value >= 0 && value < 1 << 8) {
            out.write(BININT1);
            out.write((int) value);
        } else if (value >= 0 && value < 1 << 16) {
            out.write(BININT2);
            out.write((int) value);
            out.write((int) (value >> 8));
        } else if (value == (int) value) {
            out.write(BININT);
            littleEndian((int) value);
        } else {
            out.write(LONG1);
            out.write(Long.BYTES);
            littleEndian((int) value);
            littleEndian((int) (value >> Integer.SIZE));
        }
    }

    public void truth(boolean value) throws IOException {
        out.write(value ? NEWTRUE : NEWFALSE);
    }

    /** Writes a text. Half a surrogate pair, which Python does not read, becomes a question mark. */
    public void text(String value) throws IOException {
        final Integer known = memo.get(value);
        if (known == null) {
            final byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
            out.write(BINUNICODE);
            littleEndian(bytes.length);
            out.write(bytes);
            byNumber(BINPUT, LONG_BINPUT, memo.size());
            memo.put(value, memo.size());
        } else {
            byNumber(BINGET, LONG_BINGET, known);
        }
    }

    private void byNumber(int shortCode, int longCode, int number) throws IOException {
        if (number < 1 << 8) {
            out.write(shortCode);
            out.write(number);
        } else {
            out.write(longCode);
            littleEndian(number);
        }
    }

    private void littleEndian(int value) throws IOException {
        for (int shift = 0; shift < Integer.SIZE; shift += Byte.SIZE) {
            out.write(value >> shift);
        }
    }

    /** Ends the pickle. */
    public void end() throws IOException {
        out.write(STOP);
        out.flush();
    }
}
