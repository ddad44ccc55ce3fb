package allocator.runtime;

import allocator.runtime.AllocatorReport.Setting;
import allocator.runtime.AllocatorReport.Source;
import allocator.spi.AllocatorOptions;
import allocator.spi.InvalidOptionException;
import allocator.spi.OptionKey;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Takes a provider's keys out of an environment's or a session's settings, and tells wishes from what is in force. */
final class Settings {
    /** The origin of what the environment's builder was given. */
    static final String ENVIRONMENT = "environment";

    /** The origin of what a session's options were given. */
    static final String SESSION = "session";

    /** The origin of what the runtime adds by itself. */
    static final String RUNTIME = "runtime";

    private Settings() {}

    /**
     * The settings that begin with a prefix, without it.
     *
     * @throws InvalidOptionException if a key is unknown or a value not accepted; it names the key with its prefix
     */
    static AllocatorOptions select(
            Map<String, String> settings, String prefix, Collection<OptionKey<?>> keys, String origin) {
        final Map<String, OptionKey<?>> byName = new TreeMap<>();
        keys.forEach(key -> byName.put(prefix + key.name(), key));
        final Map<String, String> selected = new TreeMap<>();
        settings.forEach((name, value) -> {
            if (name.startsWith(prefix)) {
                final OptionKey<?> key = byName.get(name);
                if (key == null) {
                    throw InvalidOptionException.unknownKey(name, value, origin, byName.keySet());
                }
                requireAccepted(key, name, value, origin);
                selected.put(key.name(), value);
            }
        });
        return AllocatorOptions.of(selected, origin);
    }

    private static void requireAccepted(OptionKey<?> key, String name, String value, String origin) {
        try {
            key.parse(value, origin);
        } catch (InvalidOptionException e) {
            throw new InvalidOptionException(name, value, e.accepted(), origin);
        }
    }

    /** What was asked for beside what is in force, for every key. */
    static List<Setting> compare(
            List<OptionKey<?>> keys, AllocatorOptions requested, AllocatorOptions effective, Source source) {
        final Map<String, @Nullable OptionKey<?>> byName = new TreeMap<>();
        new TreeSet<>(requested.keys()).forEach(name -> byName.put(name, null));
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
        final String inForce = effective.value(name);
        final String given = requested.value(name);
        if (given == null) {
            final String fallback = key == null ? inForce == null ? "" : inForce : defaultOf(key);
            final boolean same = inForce == null || fallback.equals(inForce);
            return new Setting(
                    name,
                    fallback,
                    inForce,
                    AllocatorOptions.DEFAULT,
                    same ? "" : whyDifferent(source, effective.origin(name)));
        }
        final String origin = requested.origin(name);
        if (inForce == null) {
            final String why = effective.isEmpty()
                    ? "the provider tells no settings of this memory"
                    : "the key does not apply to this memory";
            return new Setting(name, given, null, origin, why);
        }
        final boolean same = inForce.equals(key == null ? given : normalized(key, given, origin));
        return new Setting(name, given, inForce, origin, same ? "" : whyDifferent(source, effective.origin(name)));
    }

    private static String whyDifferent(Source source, String effectiveOrigin) {
        return switch (source) {
            case CREATED -> "the provider shares an instance that exists already; its value is from " + effectiveOrigin;
            case EXCLUSIVE -> "the provider decided otherwise; its value is from " + effectiveOrigin;
            case ENVIRONMENT -> "the environment's allocator is used; its value is from " + effectiveOrigin;
            case REGISTERED -> "an allocator that the application registered is used";
        };
    }

    private static <T> String defaultOf(OptionKey<T> key) {
        return key.format(key.defaultValue());
    }

    private static <T> String normalized(OptionKey<T> key, String text, String origin) {
        return key.format(key.parse(text, origin));
    }
}
