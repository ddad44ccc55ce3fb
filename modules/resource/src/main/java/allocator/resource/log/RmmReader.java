package allocator.resource.log;

import allocator.resource.log.RmmLog.Action;
import allocator.resource.log.RmmLog.Entry;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.Reader;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads the lines of an RMM log. Finds the columns by their names in the header, as RMM's own tools do. */
final class RmmReader {
    /** Some editors put it at the start of a file. */
    private static final String BYTE_ORDER_MARK = "\uFEFF";

    /** ASCII digits only, unlike the parsers of {@link Long}. */
    private static final Pattern DECIMAL = Pattern.compile("-?[0-9]+");

    /** The columns that are read. */
    private static final List<String> COLUMNS = List.of("Thread", "Action", "Pointer", "Size", "Stream");

    /** The most lines of other text before the header. */
    private static final int MOST_BEFORE_HEADER = 1000;

    private static final Pattern HEXADECIMAL = Pattern.compile("[0-9a-fA-F]+");

    private final int thread;
    private final int action;
    private final int pointer;
    private final int size;
    private final int stream;
    private final int count;

    private RmmReader(String header, String name) {
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
            throw new IllegalArgumentException(
                    name + ":1: there is no column " + column + " in " + printable(names.toString()));
        }
        return index;
    }

    /** Reads all lines. Those that are no entry of a log are given to {@code leftOut}, or refused if it is null. */
    static List<Entry> read(Reader in, String name, @Nullable Consumer<String> leftOut) throws IOException {
        final BufferedReader lines = new BufferedReader(in);
        final String first = lines.readLine();
        if (first == null) {
            throw new IllegalArgumentException(name + ":1: the header " + RmmLog.HEADER + " is missing");
        }
        String header = first.startsWith(BYTE_ORDER_MARK) ? first.substring(1) : first;
        int number = 1;
        for (; leftOut != null && !List.of(header.split(",", -1)).containsAll(COLUMNS); number++) {
            leftOut.accept(name + ":" + number + ": is before the header");
            final String next = number > MOST_BEFORE_HEADER ? null : lines.readLine();
            if (next == null) {
                throw new IllegalArgumentException(name + ":1: the header " + RmmLog.HEADER + " is missing");
            }
            header = next;
        }
        final RmmReader reader = new RmmReader(header, name);
        final List<Entry> entries = new ArrayList<>();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            number++;
            if (line.isBlank() || (leftOut != null && line.equals(header))) {
                continue;
            }
            try {
                entries.add(reader.entry(line, name + ":" + number));
            } catch (IllegalArgumentException e) {
                final boolean isOther = line.split(",", -1).length != reader.count;
                if (leftOut == null || (!isOther && lines.readLine() != null)) {
                    throw e;
                }
                leftOut.accept(e.getMessage());
            }
        }
        return entries;
    }

    private Entry entry(String line, String place) {
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
        if (entry.byteSize() < 0) {
            throw new IllegalArgumentException(place + ": size " + entry.byteSize() + " is negative");
        }
        return entry;
    }

    private static Action action(String text, String place) {
        for (Action action : Action.values()) {
            if (action.text().equals(text)) {
                return action;
            }
        }
        throw new IllegalArgumentException(place + ": action '" + printable(text) + "' is unknown");
    }

    /** Parses hexadecimal. Old RMM prints {@code (nil)} for none, streams as decimals, some pointers without 0x. */
    private static long address(String text, String what, String place) {
        if (text.equals("(nil)")) {
            return 0;
        }
        if (text.startsWith("0x")) {
            return number(text.substring(2), 16, what, place);
        }
        return number(text, what.equals("pointer") ? 16 : 10, what, place);
    }

    private static long number(String text, int radix, String what, String place) {
        try {
            if (!(radix == 16 ? HEXADECIMAL : DECIMAL).matcher(text).matches()) {
                throw new NumberFormatException();
            }
            return radix == 16 ? Long.parseUnsignedLong(text, radix) : Long.parseLong(text, radix);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(place + ": " + what + " '" + printable(text) + "' is not a number", e);
        }
    }

    /** Returns a text of the log for a message, with its control characters escaped. */
    private static String printable(String text) {
        final StringBuilder shown = new StringBuilder();
        text.codePoints().forEach(c -> {
            if (Character.isISOControl(c)) {
                shown.append(String.format("\\u%04x", c));
            } else {
                shown.appendCodePoint(c);
            }
        });
        return shown.toString();
    }
}
