package allocator.runtime;

import allocator.spi.DeviceType;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** The list of arenas that a run shrinks when it is over. */
final class ShrinkList {
    private static final String FORM = "a list of <"
            + Arrays.stream(DeviceType.values()).map(DeviceType::id).collect(Collectors.joining("|"))
            + ">[:<ordinal>] separated by ';'";

    /** ONNX Runtime reads a 16-bit number. */
    private static final int MAX_ORDINAL = Short.MAX_VALUE;

    private static final Pattern ORDINAL = Pattern.compile("[0-9]{1,5}");
    private static final Pattern ENTRY = Pattern.compile("([^:]*)(?::([^:]*))?(.*)");

    /** One entry: a kind of device and its number. */
    record Entry(DeviceType deviceType, int ordinal) {
        boolean matches(ManagedArena arena) {
            return arena.info().deviceType() == deviceType
                    && arena.info().deviceOrdinal() == ordinal
                    && arena.info().memoryType() == MemoryType.DEFAULT
                    && !arena.info().isReadOnly();
        }

        @Override
        public String toString() {
            return deviceType.id() + ":" + ordinal;
        }
    }

    private ShrinkList() {}

    /**
     * Reads a list. One semicolon may follow the last entry.
     *
     * @throws InvalidOptionException if it is not of the accepted form
     */
    static List<Entry> parse(String list) {
        final List<Entry> entries = new ArrayList<>();
        if (!list.isEmpty()) {
            final String body = list.endsWith(";") ? list.substring(0, list.length() - 1) : list;
            for (final String text : body.split(";", -1)) {
                entries.add(parseEntry(text, list));
            }
        }
        return entries;
    }

    private static Entry parseEntry(String text, String list) {
        final Matcher parts = ENTRY.matcher(text);
        if (!parts.matches() || !parts.group(3).isEmpty()) {
            throw refused(list, "Unsupported device id in the memory arena shrink list: " + text);
        }
        final String type = parts.group(1);
        final DeviceType deviceType = Arrays.stream(DeviceType.values())
                .filter(candidate -> candidate.id().equals(type))
                .findFirst()
                .orElseThrow(
                        () -> refused(list, "Unsupported device specified in the memory arena shrink list: " + type));
        final String ordinal = parts.group(2);
        if (ordinal == null || ordinal.isEmpty()) {
            return new Entry(deviceType, 0);
        }
        if (!ORDINAL.matcher(ordinal).matches() || Integer.parseInt(ordinal) > MAX_ORDINAL) {
            throw refused(list, "Unsupported device id in the memory arena shrink list: " + ordinal);
        }
        return new Entry(deviceType, Integer.parseInt(ordinal));
    }

    /**
     * Finds the arenas of a list: each instance once, in the order of the list.
     *
     * @throws InvalidOptionException if an entry matches none of {@code arenas}
     */
    static List<ManagedArena> resolve(String list, Collection<ManagedArena> arenas) {
        final List<ManagedArena> resolved = new ArrayList<>();
        for (final Entry entry : parse(list)) {
            final List<ManagedArena> matching =
                    arenas.stream().filter(entry::matches).toList();
            if (matching.isEmpty()) {
                throw refused(
                        list,
                        "Did not find an arena based allocator registered for device-id combination in the memory arena"
                                + " shrink list: " + entry + "; there are: "
                                + (arenas.isEmpty() ? "none" : join(arenas)));
            }
            for (final ManagedArena arena : matching) {
                if (resolved.stream().noneMatch(arena::isSameAs)) {
                    resolved.add(arena);
                }
            }
        }
        return resolved;
    }

    private static String join(Collection<ManagedArena> arenas) {
        return arenas.stream().map(arena -> arena.info().toString()).collect(Collectors.joining(", "));
    }

    private static InvalidOptionException refused(String list, String reason) {
        return new InvalidOptionException(RunOptions.SHRINK_KEY, list, FORM + ". " + reason, RunOptions.ORIGIN);
    }
}
