package allocator.resource.log;

import allocator.resource.log.RmmLog.Action;
import allocator.resource.log.RmmLog.Entry;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.Reader;
import java.util.ArrayList;
import java.util.List;

/** Reads the lines of an RMM log. Finds the columns by their names in the header, as RMM's own tools do. */
final class RmmReader {
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
            throw new IllegalArgumentException(name + ":1: there is no column " + column + " in " + names);
        }
        return index;
    }

    static List<Entry> read(Reader in, String name) throws IOException {
        final BufferedReader lines = new BufferedReader(in);
        final String header = lines.readLine();
        if (header == null) {
            throw new IllegalArgumentException(name + ":1: the header " + RmmLog.HEADER + " is missing");
        }
        final RmmReader reader = new RmmReader(header, name);
        final List<Entry> entries = new ArrayList<>();
        int number = 1;
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            number++;
            if (!line.isBlank()) {
                entries.add(reader.entry(line, name + ":" + number));
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
        throw new IllegalArgumentException(place + ": action '" + text + "' is unknown");
    }

    /** Parses hexadecimal with {@code 0x}. Old versions of RMM print {@code (nil)} for none and streams as decimals. */
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
