package allocator.spi;

import java.math.BigInteger;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An option that an allocator understands: its name, default, accepted values, and how to parse them. Immutable.
 *
 * @param <T> type of the value
 */
public final class OptionKey<T> {
    /** Sizes of arenas are rounded up to a multiple of this many bytes (O-03). */
    public static final long SIZE_GRANULARITY = 256;

    /** The largest accepted size: the largest multiple of {@link #SIZE_GRANULARITY} that fits. */
    public static final long MAX_SIZE = Long.MAX_VALUE / SIZE_GRANULARITY * SIZE_GRANULARITY;

    /**
     * Requests an instance that is not shared, even if the provider shares one (O-06). A provider that shares instances
     * understands this key; the runtime sets it for allocators whose own settings must be effective.
     */
    public static final OptionKey<Boolean> EXCLUSIVE =
            flag("arena.exclusive", false, "1: a new instance of its own, instead of the one that users share");

    private static final Pattern SIZE = Pattern.compile("([0-9]{1,20})((?i:[kmgt](?:ib)?)?)");

    private static final String SIZE_FORMS =
            "write a number, one with a unit and no space such as 64m or 64MiB (k, m, g, t), or max";

    private final String name;
    private final T defaultValue;
    private final String accepted;
    private final String description;
    private final Function<String, T> reader;
    private final Function<T, String> writer;

    private OptionKey(
            String name,
            T defaultValue,
            String accepted,
            String description,
            Function<String, T> reader,
            Function<T, String> writer) {
        this.name = name;
        this.defaultValue = defaultValue;
        this.accepted = accepted;
        this.description = description;
        this.reader = reader;
        this.writer = writer;
    }

    /**
     * {@return a key for a size above zero, rounded up to {@link #SIZE_GRANULARITY} (O-03)}
     *
     * @param name the key, such as {@code arena.initial_chunk_size_bytes}
     * @param defaultBytes the default, itself a valid value
     * @param description what it does, for a person to read
     */
    public static OptionKey<Long> size(String name, long defaultBytes, String description) {
        return size(name, defaultBytes, MAX_SIZE, description);
    }

    /**
     * {@return a key for a size from 1 to a maximum, rounded up to {@link #SIZE_GRANULARITY} (O-03)}
     *
     * @param name the key, such as {@code arena.initial_chunk_size_bytes}
     * @param defaultBytes the default, itself a valid value
     * @param maxBytes the largest accepted size, a multiple of {@link #SIZE_GRANULARITY}
     * @param description what it does, for a person to read
     * @throws IllegalArgumentException if {@code maxBytes} is not above zero or not such a multiple
     */
    public static OptionKey<Long> size(String name, long defaultBytes, long maxBytes, String description) {
        if (maxBytes <= 0 || maxBytes % SIZE_GRANULARITY != 0) {
            throw new IllegalArgumentException(
                    "the largest size is " + maxBytes + ", it must be a multiple of " + SIZE_GRANULARITY);
        }
        return new OptionKey<>(
                name,
                roundUp(defaultBytes),
                "a size in bytes from 1 to " + maxBytes,
                description,
                text -> roundUp(bytesBetween(text, 1, maxBytes)),
                String::valueOf);
    }

    /**
     * {@return a key for a number of bytes, without rounding}
     *
     * @param name the key
     * @param defaultBytes the default, itself a valid value
     * @param description what it does and what zero means, for a person to read
     */
    public static OptionKey<Long> bytes(String name, long defaultBytes, String description) {
        return new OptionKey<>(
                name,
                defaultBytes,
                "a number of bytes from 0 to " + Long.MAX_VALUE,
                description,
                text -> bytesBetween(text, 0, Long.MAX_VALUE),
                String::valueOf);
    }

    /**
     * {@return a key for an upper bound on bytes, without rounding} The default is 0, no limit. So is {@code max}, and
     * each number from {@link Long#MAX_VALUE} to that below 2<sup>64</sup>, such as ONNX Runtime's default.
     *
     * @param name the key
     * @param description what is limited, for a person to read
     */
    public static OptionKey<Long> limit(String name, String description) {
        final OptionKey<Long> bytes = bytes(name, 0, description + "; 0 is no limit");
        return new OptionKey<>(
                name,
                bytes.defaultValue,
                bytes.accepted + ", or more for no limit",
                bytes.description,
                bytes.reader.andThen(bound -> bound == Long.MAX_VALUE ? 0 : bound),
                bytes.writer);
    }

    /**
     * {@return a key for a count}
     *
     * @param name the key
     * @param defaultCount the default, itself a valid value
     * @param description what it does and what zero means, for a person to read
     */
    public static OptionKey<Integer> count(String name, int defaultCount, String description) {
        return count(name, defaultCount, Integer.MAX_VALUE, description);
    }

    /**
     * {@return a key for a count up to a maximum}
     *
     * @param name the key
     * @param defaultCount the default, from 0 to the maximum
     * @param maxCount the largest accepted count
     * @param description what it does, for a person to read
     */
    public static OptionKey<Integer> count(String name, int defaultCount, int maxCount, String description) {
        return new OptionKey<>(
                name,
                defaultCount,
                "a number from 0 to " + maxCount,
                description,
                text -> (int) between(text, 0, maxCount),
                String::valueOf);
    }

    /**
     * {@return a key for a switch: {@code 0} or {@code 1}}
     *
     * @param name the key
     * @param defaultValue the default
     * @param description what it does, for a person to read
     */
    public static OptionKey<Boolean> flag(String name, boolean defaultValue, String description) {
        return new OptionKey<>(
                name,
                defaultValue,
                "0 (off) or 1 (on)",
                description,
                text -> between(text, 0, 1) == 1,
                value -> value ? "1" : "0");
    }

    /**
     * {@return a key for a list of different texts, separated by {@code ;}} The default is the empty list.
     *
     * @param name the key
     * @param entry what each text must match, without {@code ;}
     * @param accepted describes the accepted values, for error messages
     * @param description what it does, for a person to read
     */
    public static OptionKey<List<String>> list(String name, Pattern entry, String accepted, String description) {
        return new OptionKey<>(
                name,
                List.of(),
                accepted,
                description,
                text -> {
                    final List<String> entries = text.isEmpty() ? List.of() : List.of(text.split(";", -1));
                    requireEntries(entries, entry);
                    return entries;
                },
                entries -> String.join(";", entries));
    }

    private static void requireEntries(List<String> entries, Pattern accepted) {
        final Set<String> known = new HashSet<>();
        for (final String entry : entries) {
            if (entries.size() > 1 && entry.isEmpty()) {
                throw new RejectedEntryException("an entry is empty");
            }
            if (!accepted.matcher(entry).matches()) {
                throw new RejectedEntryException(entries.size() > 1 ? "'" + entry + "' is none" : "");
            }
            if (!known.add(entry)) {
                throw new RejectedEntryException("'" + entry + "' is there twice");
            }
        }
    }

    /** Thrown for a text that is not accepted; the message says why, or what else is, empty if that is plain. */
    private static final class RejectedEntryException extends IllegalArgumentException {
        private static final long serialVersionUID = 1L;

        RejectedEntryException(String reason) {
            super(reason);
        }
    }

    /**
     * {@return a key for one of several named values}
     *
     * @param name the key
     * @param defaultValue the default, one of {@code values}
     * @param values every accepted text and its value; a value is formatted as the first of its texts in natural order
     * @param description what it does, for a person to read
     * @param <E> type of the value
     */
    public static <E> OptionKey<E> choice(String name, E defaultValue, Map<String, E> values, String description) {
        return choice(name, defaultValue, values, Map.of(), description);
    }

    /**
     * {@return a key for one of several named values, some of which replaced earlier ones}
     *
     * @param name the key
     * @param defaultValue the default, one of {@code values}
     * @param values every accepted text and its value; a value is formatted as the first of its texts in natural order
     * @param replaced each text that is not accepted any more, and the one that replaced it, for the message
     * @param description what it does, for a person to read
     * @param <E> type of the value
     */
    public static <E> OptionKey<E> choice(
            String name, E defaultValue, Map<String, E> values, Map<String, String> replaced, String description) {
        final Map<String, E> sorted = new TreeMap<>(values);
        return new OptionKey<>(
                name,
                defaultValue,
                "one of " + String.join(", ", sorted.keySet()),
                description,
                text -> {
                    final E value = sorted.get(text);
                    if (value == null) {
                        final String successor = replaced.get(text);
                        throw new RejectedEntryException(
                                successor == null ? "" : name + "=" + text + " was replaced by " + successor);
                    }
                    return value;
                },
                value -> sorted.entrySet().stream()
                        .filter(entry -> entry.getValue().equals(value))
                        .map(Map.Entry::getKey)
                        .findFirst()
                        .orElseThrow());
    }

    /** Reads a size with or without unit. Above the largest sizes, what fits in 64 unsigned bits is no limit. */
    private static long bytesBetween(String text, long min, long max) {
        final Matcher size = SIZE.matcher(text);
        if (text.equalsIgnoreCase("max")) {
            return max;
        }
        if (!size.matches()) {
            throw new RejectedEntryException(SIZE_FORMS);
        }
        final String unit = size.group(2);
        final int shift = unit.isEmpty() ? 0 : 10 * ("kmgt".indexOf(Character.toLowerCase(unit.charAt(0))) + 1);
        final BigInteger value = new BigInteger(size.group(1)).shiftLeft(shift);
        if (max >= MAX_SIZE && value.compareTo(BigInteger.valueOf(max)) > 0 && value.bitLength() <= Long.SIZE) {
            return max;
        }
        if (value.compareTo(BigInteger.valueOf(min)) < 0 || value.compareTo(BigInteger.valueOf(max)) > 0) {
            throw new RejectedEntryException(SIZE_FORMS);
        }
        return value.longValue();
    }

    private static long between(String text, long min, long max) {
        // Long.parseLong accepts the digits of every script, and a sign.
        if (!text.chars().allMatch(c -> c >= '0' && c <= '9')) {
            throw new IllegalArgumentException();
        }
        final long value = Long.parseLong(text);
        if (value < min || value > max) {
            throw new IllegalArgumentException();
        }
        return value;
    }

    private static long roundUp(long byteSize) {
        return (byteSize + SIZE_GRANULARITY - 1) / SIZE_GRANULARITY * SIZE_GRANULARITY;
    }

    /** {@return the key's name, such as {@code arena.max_mem}} */
    public String name() {
        return name;
    }

    /** {@return the default, which applies if the key is not set} */
    public T defaultValue() {
        return defaultValue;
    }

    /**
     * {@return the accepted values, as error messages describe them, such as {@code a size in bytes from 1 to
     * 9223372036854775552}}
     */
    public String accepted() {
        return accepted;
    }

    /** {@return what the key does, in a line for a person to read} */
    public String description() {
        return description;
    }

    /**
     * Parses a value.
     *
     * @param text the value as given; a number has ASCII digits only, no sign and no blanks; a size may end with
     *     {@code k}, {@code m}, {@code g}, {@code t}, {@code KiB}, {@code MiB}, {@code GiB} or {@code TiB} in either
     *     case, or be {@code max}, the largest value; where the maximum is that of all sizes, each larger number below
     *     2<sup>64</sup> means the largest value too
     * @param origin where it was given, for the message
     * @return the value
     * @throws InvalidOptionException if the text is not accepted; it names key, value, accepted values and origin
     */
    public T parse(String text, String origin) {
        try {
            return reader.apply(text);
        } catch (IllegalArgumentException e) {
            final String reason = e instanceof RejectedEntryException
                            && !String.valueOf(e.getMessage()).isEmpty()
                    ? ": " + e.getMessage()
                    : "";
            throw new InvalidOptionException(name, text, accepted + reason, origin);
        }
    }

    /**
     * {@return the text of a value, such that {@link #parse} accepts it}
     *
     * @param value a value of this key
     */
    public String format(T value) {
        return writer.apply(value);
    }

    @Override
    public String toString() {
        return name + " (" + accepted + "; default " + format(defaultValue) + ")";
    }
}
