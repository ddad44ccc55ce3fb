package allocator.runtime;

import allocator.spi.AllocatorOptions;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Where an allocator comes from, which settings are effective on it, and why.
 *
 * <p>{@link #toString} is a table for a person to read, without a line end after the last line.
 *
 * @param memory the memory it serves
 * @param provider the provider that created it; {@link #APPLICATION} for one that the application registered
 * @param owner the session's name, or {@link #ENVIRONMENT}
 * @param source how the owner got it
 * @param settings one entry for every key, in key order
 */
public record AllocatorReport(MemoryInfo memory, String provider, String owner, Source source, List<Setting> settings) {

    /** The provider of an allocator that the application registered. */
    public static final String APPLICATION = "application";

    /** The owner of shared allocators. */
    public static final String ENVIRONMENT = "environment";

    /** How an owner got its allocator. */
    public enum Source {
        /** Created for this owner. The provider may still return an instance that it shares. */
        CREATED,
        /** Created for this owner as an instance that is not shared, since the owner has settings of its own. */
        EXCLUSIVE,
        /** The environment's shared allocator. */
        ENVIRONMENT,
        /** An allocator that the application registered with the environment. */
        REGISTERED
    }

    /**
     * One key.
     *
     * @param key the bare key, such as {@code arena.max_mem}
     * @param requested the value requested by the place that overrides the others; the default if none names the key
     * @param effective the effective value; {@code null} if the provider does not report it, or the key does not apply
     *     to this memory
     * @param origin the place that {@code requested} comes from: {@code explicit call}, {@code session}, {@code session
     *     gpu:1} if it names that device, {@code environment}, {@code runtime} or {@code default}
     * @param why why the two differ; empty if they do not
     */
    public record Setting(
            String key, String requested, @Nullable String effective, String origin, String why) {
        /** {@return whether the requested value is effective: whether {@code why} is empty} */
        public boolean isEffective() {
            return why.isEmpty();
        }

        /** Returns whether the requested value is effective, rounded to what memory comes in. */
        boolean isServed() {
            return isEffective() || why.startsWith("rounded ");
        }
    }

    /** Copies the settings. */
    public AllocatorReport {
        Objects.requireNonNull(memory, "memory");
        Objects.requireNonNull(provider, "provider");
        Objects.requireNonNull(owner, "owner");
        Objects.requireNonNull(source, "source");
        settings = List.copyOf(settings);
    }

    /** Compares the requested settings with the effective ones, for every key. */
    static List<Setting> compare(
            List<OptionKey<?>> keys, AllocatorOptions requested, AllocatorOptions effective, Source source) {
        final Map<String, @Nullable OptionKey<?>> byName = new TreeMap<>();
        requested.keys().forEach(name -> byName.put(name, null));
        effective.keys().forEach(name -> byName.put(name, null));
        keys.forEach(key -> byName.put(key.name(), key));
        final List<Setting> settings = new ArrayList<>();
        byName.forEach((name, key) -> settings.add(compare(name, key, requested, effective, source)));
        return settings;
    }

    private static Setting compare(
            String name,
            @Nullable OptionKey<?> key,
            AllocatorOptions requested,
            AllocatorOptions effective,
            Source source) {
        final String value = effective.value(name);
        final String given = requested.value(name);
        if (given == null) {
            final String fallback = key == null ? value == null ? "" : value : defaultOf(key);
            final boolean same = value == null || fallback.equals(value);
            return new Setting(
                    name,
                    fallback,
                    value,
                    AllocatorOptions.DEFAULT,
                    same ? "" : whyDifferent(source, effective, name, fallback, AllocatorOptions.DEFAULT));
        }
        final String origin = requested.origin(name);
        if (value == null) {
            final String why = effective.isEmpty()
                    ? "the provider reports no settings of this memory"
                    : "the key does not apply to this memory";
            return new Setting(name, given, null, origin, why);
        }
        final String wanted = key == null ? given : normalized(key, requested);
        return new Setting(
                name,
                given,
                value,
                origin,
                value.equals(wanted) ? "" : whyDifferent(source, effective, name, wanted, origin));
    }

    private static String whyDifferent(
            Source source, AllocatorOptions effective, String key, String requested, String origin) {
        final String why = effective.whyServed(key, requested, origin);
        if (!why.isEmpty()) {
            return why;
        }
        final String effectiveOrigin = effective.origin(key);
        return switch (source) {
            case CREATED -> "the provider shares an existing instance; its value is from " + effectiveOrigin;
            case EXCLUSIVE -> "the provider decided otherwise; its value is from " + effectiveOrigin;
            case ENVIRONMENT -> "the environment's allocator is used; its value is from " + effectiveOrigin;
            case REGISTERED -> "an allocator that the application registered is used";
        };
    }

    private static <T> String defaultOf(OptionKey<T> key) {
        return key.format(key.defaultValue());
    }

    private static <T> String normalized(OptionKey<T> key, AllocatorOptions requested) {
        return key.format(requested.get(key));
    }

    @Override
    public String toString() {
        final StringBuilder text =
                new StringBuilder(memory + " of " + owner + ", provider " + provider + ", " + source);
        final int keyWidth = width(settings.stream().map(Setting::key).toList());
        final int valueWidth =
                width(settings.stream().map(AllocatorReport::effectiveText).toList());
        for (final Setting setting : settings) {
            text.append(System.lineSeparator())
                    .append("  " + pad(setting.key(), keyWidth))
                    .append("  " + pad(effectiveText(setting), valueWidth))
                    .append("  " + setting.origin());
            if (!setting.isEffective()) {
                text.append(", requested " + setting.requested() + ": " + setting.why());
            }
        }
        return text.toString();
    }

    private static String effectiveText(Setting setting) {
        return Objects.requireNonNullElse(setting.effective(), "-");
    }

    private static int width(List<String> column) {
        return column.stream().mapToInt(String::length).max().orElse(0);
    }

    private static String pad(String text, int width) {
        return text + " ".repeat(width - text.length());
    }
}
