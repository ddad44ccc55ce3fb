package allocator.runtime.options;

import allocator.spi.DeviceType;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * An entry in a list of arenas to shrink: of a call, or of those that a run shrinks when it ends.
 *
 * @param deviceType the kind of device
 * @param ordinal its number, from 0
 */
public record ShrinkTarget(DeviceType deviceType, int ordinal) {
    private static final String FORM = "a list of <"
            + Arrays.stream(DeviceType.values()).map(DeviceType::id).collect(Collectors.joining("|"))
            + ">[:<ordinal>] separated by ';'";

    private static final String ARENAS = "a list of devices on which the session has an arena of default memory";

    /** ONNX Runtime reads a 16-bit number. */
    private static final int MAX_ORDINAL = Short.MAX_VALUE;

    private static final Pattern ORDINAL = Pattern.compile("[0-9]{1,5}");
    private static final Pattern ENTRY = Pattern.compile("([^:]*)(?::([^:]*))?(.*)");

    /**
     * Returns the entries of a list, in order. One semicolon may follow the last entry.
     *
     * @param list such as {@code cpu:0;gpu:0}
     * @param origin where it was given, for a message
     * @throws InvalidOptionException if it is not of the accepted form
     */
    public static List<ShrinkTarget> parse(String list, String origin) {
        final List<ShrinkTarget> targets = new ArrayList<>();
        if (!list.isEmpty()) {
            final String body = list.endsWith(";") ? list.substring(0, list.length() - 1) : list;
            for (final String text : body.split(";", -1)) {
                targets.add(parseEntry(text, list, origin));
            }
        }
        return List.copyOf(targets);
    }

    private static ShrinkTarget parseEntry(String text, String list, String origin) {
        final Matcher parts = ENTRY.matcher(text);
        if (!parts.matches() || !parts.group(3).isEmpty()) {
            throw invalid(list, origin, FORM, "Unsupported device id in the memory arena shrink list: " + text);
        }
        final String type = parts.group(1);
        final DeviceType deviceType = Arrays.stream(DeviceType.values())
                .filter(candidate -> candidate.id().equals(type))
                .findFirst()
                .orElseThrow(() -> invalid(
                        list, origin, FORM, "Unsupported device specified in the memory arena shrink list: " + type));
        final String ordinal = parts.group(2);
        if (ordinal == null || ordinal.isEmpty()) {
            return new ShrinkTarget(deviceType, 0);
        }
        if (!ORDINAL.matcher(ordinal).matches() || Integer.parseInt(ordinal) > MAX_ORDINAL) {
            throw invalid(list, origin, FORM, "Unsupported device id in the memory arena shrink list: " + ordinal);
        }
        return new ShrinkTarget(deviceType, Integer.parseInt(ordinal));
    }

    /** {@return whether this entry means an arena of some memory: of the default memory of the device} */
    public boolean matches(MemoryInfo memory) {
        return memory.deviceType() == deviceType
                && memory.deviceOrdinal() == ordinal
                && memory.memoryType() == MemoryType.DEFAULT
                && !memory.isReadOnly();
    }

    /**
     * Makes the exception for an entry that matches no arena.
     *
     * @param origin where the list was given
     * @param arenas the memories that have an arena
     */
    public InvalidOptionException matchesNone(String list, String origin, List<MemoryInfo> arenas) {
        return invalid(
                list,
                origin,
                ARENAS,
                "Did not find an arena based allocator registered for device-id combination in the memory arena"
                        + " shrink list: " + this + "; there are: "
                        + (arenas.isEmpty()
                                ? "none"
                                : arenas.stream().map(MemoryInfo::toString).collect(Collectors.joining(", "))));
    }

    private static InvalidOptionException invalid(String list, String origin, String accepted, String reason) {
        return new InvalidOptionException(RuntimeKeys.SHRINK, list, accepted + ". " + reason, origin);
    }

    @Override
    public String toString() {
        return deviceType.id() + ":" + ordinal;
    }
}
