package allocator.spi;

import java.util.Collection;
import java.util.Collections;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Settings for an allocator: the text of each key with the place where it was given, parsed through {@link OptionKey}s.
 * Immutable, in key order.
 */
public final class AllocatorOptions {
    /** No settings. */
    public static final AllocatorOptions EMPTY = new AllocatorOptions(Map.of());

    /** The origin of settings that a caller passes directly. */
    public static final String EXPLICIT = "explicit call";

    /** The origin of a key that is not set. */
    public static final String DEFAULT = "default";

    /** A setting's text and origin. */
    private static final class Entry {
        private final String value;
        private final String origin;

        /** The value that was requested, if another one is served. */
        private final String replaced;

        private final String why;

        Entry(String value, String origin) {
            this(value, origin, "", "");
        }

        Entry(String value, String origin, String replaced, String why) {
            this.value = Objects.requireNonNull(value, "value");
            this.origin = Objects.requireNonNull(origin, "origin");
            this.replaced = replaced;
            this.why = Objects.requireNonNull(why, "why");
        }

        <T> T parse(OptionKey<T> key) {
            return key.parse(value, origin);
        }

        @Override
        public boolean equals(@Nullable Object object) {
            return object instanceof Entry other && value.equals(other.value) && origin.equals(other.origin);
        }

        @Override
        public int hashCode() {
            return 31 * value.hashCode() + origin.hashCode();
        }
    }

    private final Map<String, Entry> entries;

    private AllocatorOptions(Map<String, Entry> entries) {
        this.entries = Collections.unmodifiableMap(new TreeMap<>(entries));
    }

    /**
     * {@return settings that a caller passes directly, with the origin {@link #EXPLICIT}}
     *
     * @param values key to value
     */
    public static AllocatorOptions of(Map<String, String> values) {
        return of(values, EXPLICIT);
    }

    /**
     * {@return settings that were given in one place}
     *
     * @param values key to value
     * @param origin where they were given, for messages, such as {@code session}
     */
    public static AllocatorOptions of(Map<String, String> values, String origin) {
        final Map<String, Entry> entries = new TreeMap<>();
        values.forEach((key, value) -> entries.put(key, new Entry(value, origin)));
        return new AllocatorOptions(entries);
    }

    /**
     * {@return these settings with one added or replaced}
     *
     * @param key the key
     * @param value its value
     * @param origin where it was given
     */
    public AllocatorOptions with(String key, String value, String origin) {
        final Map<String, Entry> merged = new TreeMap<>(entries);
        merged.put(key, new Entry(value, origin));
        return new AllocatorOptions(merged);
    }

    /**
     * {@return these settings overridden by others: for each key that {@code stronger} has, its text and origin (O-04)}
     *
     * @param stronger the settings that override these
     */
    public AllocatorOptions overriddenBy(AllocatorOptions stronger) {
        final Map<String, Entry> merged = new TreeMap<>(entries);
        merged.putAll(stronger.entries);
        return new AllocatorOptions(merged);
    }

    /**
     * {@return the effective settings of a provider that serves another value than the requested one, and says why} The
     * origin stays that of the requested value. The report has the reason; one that begins with {@code rounded} is no
     * reason for a warning.
     *
     * @param key the key
     * @param value the value that is served
     * @param why what the provider did with the requested value, such as {@code rounded up to 1024}
     * @param <T> type of the value
     * @throws InvalidOptionException if the requested value is not accepted
     */
    public <T> AllocatorOptions served(OptionKey<T> key, T value, String why) {
        final Map<String, Entry> merged = new TreeMap<>(entries);
        final String replaced = key.format(get(key));
        merged.put(key.name(), new Entry(key.format(value), origin(key.name()), replaced, why));
        return new AllocatorOptions(merged);
    }

    /**
     * Returns why a value is {@linkplain #served served} in place of another one.
     *
     * @param key the name of the key
     * @param requested the other value, formatted by its key
     * @param origin the origin of the other value
     * @return the reason, empty if none was given for that value of that origin
     */
    public String whyServed(String key, String requested, String origin) {
        final Entry entry = entries.get(key);
        return entry != null && entry.replaced.equals(requested) && entry.origin.equals(origin) ? entry.why : "";
    }

    /**
     * {@return the value of a key, or its default if it is not set}
     *
     * @param key the key
     * @param <T> type of its value
     * @throws InvalidOptionException if the text is not accepted
     */
    public <T> T get(OptionKey<T> key) {
        final Entry entry = entries.get(key.name());
        return entry == null ? key.defaultValue() : entry.parse(key);
    }

    /**
     * Requires that each key is known and each value accepted (O-01, O-02).
     *
     * @param known the keys that are understood
     * @throws InvalidOptionException for the first key, in key order, that is unknown or has an invalid value; for an
     *     unknown key it names the closest known key, if one is close
     */
    public void requireValid(Collection<? extends OptionKey<?>> known) {
        final Map<String, OptionKey<?>> byName = new TreeMap<>();
        known.forEach(key -> byName.put(key.name(), key));
        entries.forEach((name, entry) -> {
            final OptionKey<?> key = byName.get(name);
            if (key == null) {
                throw InvalidOptionException.unknownKey(name, entry.value, entry.origin, byName.keySet());
            }
            entry.parse(key);
        });
    }

    /**
     * Returns the effective settings: a value for every key, as parsed, with its origin or {@link #DEFAULT}.
     *
     * @param keys the keys that apply
     * @return a setting for each of {@code keys}
     * @throws InvalidOptionException if a value is not accepted
     */
    public AllocatorOptions resolve(Collection<? extends OptionKey<?>> keys) {
        final Map<String, Entry> resolved = new TreeMap<>();
        keys.forEach(key -> resolved.put(key.name(), resolve(key)));
        return new AllocatorOptions(resolved);
    }

    private <T> Entry resolve(OptionKey<T> key) {
        final Entry entry = entries.get(key.name());
        return entry == null
                ? new Entry(key.format(key.defaultValue()), DEFAULT)
                : new Entry(key.format(entry.parse(key)), entry.origin, entry.replaced, entry.why);
    }

    /**
     * {@return the text of a key as given, or {@code null} if it is not set}
     *
     * @param key the key
     */
    public @Nullable String value(String key) {
        final Entry entry = entries.get(key);
        return entry == null ? null : entry.value;
    }

    /**
     * {@return the origin of a key, where it was given; {@link #DEFAULT} if it is not set}
     *
     * @param key the key
     */
    public String origin(String key) {
        final Entry entry = entries.get(key);
        return entry == null ? DEFAULT : entry.origin;
    }

    /** {@return the keys that are set, in natural order} */
    public Set<String> keys() {
        return entries.keySet();
    }

    /** {@return whether no key is set} */
    public boolean isEmpty() {
        return entries.isEmpty();
    }

    /** {@return the settings without their origins, an unmodifiable map in key order} */
    public Map<String, String> toMap() {
        final Map<String, String> map = new TreeMap<>();
        entries.forEach((key, entry) -> map.put(key, entry.value));
        return Collections.unmodifiableMap(map);
    }

    @Override
    public boolean equals(@Nullable Object object) {
        return object instanceof AllocatorOptions other && entries.equals(other.entries);
    }

    @Override
    public int hashCode() {
        return entries.hashCode();
    }

    @Override
    public String toString() {
        final StringBuilder text = new StringBuilder();
        entries.forEach((key, entry) -> text.append(text.isEmpty() ? "" : ", ")
                .append(key)
                .append('=')
                .append(entry.value)
                .append(" (")
                .append(entry.origin)
                .append(')'));
        return text.toString();
    }
}
