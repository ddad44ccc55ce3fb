package allocator.runtime.options;

import allocator.spi.AllocatorOptions;
import allocator.spi.InvalidOptionException;
import allocator.spi.OptionKey;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A place where options are given. Each has keys of its own, and all but a run have keys of providers. */
public enum OptionPlace {
    /** The builder of an environment: its own keys and {@code ep_factory.<provider>.<key>}. */
    ENVIRONMENT(
            "environment",
            "Environment.builder().option",
            "ep_factory.",
            List.of(
                    ProviderOrder.KEY,
                    RuntimeKeys.SNAPSHOT_ON_FAILURE,
                    RuntimeKeys.JMX.name(),
                    RuntimeKeys.HISTORY.name(),
                    RuntimeKeys.LEAKS.name(),
                    RuntimeKeys.LEAKS_REPORT)) {
        @Override
        public String prefix(String provider) {
            return "ep_factory." + provider + ".";
        }
    },

    /**
     * The options of a session: its own keys, {@code ep.<provider in lower case>.<key>}, and with a device such as
     * {@code gpu:1.} before the key for that device alone.
     */
    SESSION(
            "session",
            "SessionOptions",
            "ep.",
            List.of(
                    RuntimeKeys.USE_ENV_ALLOCATORS.name(),
                    RuntimeKeys.USE_DEVICE_ALLOCATOR_FOR_INITIALIZERS.name(),
                    RuntimeKeys.CALL_SITES.name())) {
        @Override
        public String prefix(String provider) {
            return "ep." + provider.toLowerCase(Locale.ROOT) + ".";
        }
    },

    /** The options of a run. It has no keys of providers. */
    RUN("run options", "RunOptions", "", List.of(RuntimeKeys.SHRINK, RuntimeKeys.DISABLE_SYNCHRONIZE.name())) {
        @Override
        public String prefix(String provider) {
            throw new UnsupportedOperationException("a run has no options of providers");
        }
    };

    /** How the keys of arenas begin, which all providers with arenas share. */
    private static final String ARENA = "arena.";

    private static final Pattern OF_DEVICE = Pattern.compile("([a-z]+:[0-9]+)\\..*");

    /** The origin of settings that the runtime adds. */
    public static final String RUNTIME = "runtime";

    private final String origin;

    /** What an application calls to give options here. */
    private final String setter;

    private final String providerPrefix;

    @SuppressWarnings("ImmutableEnumChecker") // lists of List.of, which are immutable
    private final List<String> keys;

    OptionPlace(String origin, String setter, String providerPrefix, List<String> keys) {
        this.origin = origin;
        this.setter = setter;
        this.providerPrefix = providerPrefix;
        this.keys = keys;
    }

    /** {@return the place's name in messages and reports, such as {@code session}} */
    public String origin() {
        return origin;
    }

    /** {@return whether a setting of this origin was given here, for all devices or for one} */
    public boolean isOrigin(String text) {
        return text.equals(origin) || text.startsWith(origin + " ");
    }

    /** {@return how a provider's keys begin here, such as {@code ep.cuda-arena.}} */
    public abstract String prefix(String provider);

    /** {@return whether a key is one of a provider, whichever that is} */
    public boolean isOfProvider(String key) {
        return !providerPrefix.isEmpty() && key.startsWith(providerPrefix);
    }

    private boolean accepts(String key) {
        return keys.contains(key) || isOfProvider(key) || (this == ENVIRONMENT && DeviceLimits.isKey(key));
    }

    /** {@return the device that a key of a provider is for, such as {@code gpu:1}; empty if for all of the provider} */
    public String device(String key, String provider) {
        final Matcher rest = OF_DEVICE.matcher(key.substring(prefix(provider).length()));
        return this == SESSION && rest.matches() ? rest.group(1) : "";
    }

    /** Selects a provider's settings for all of its devices, as {@link #select(Map, String, String, Collection)}. */
    public AllocatorOptions select(
            Map<String, String> settings, String provider, Collection<? extends OptionKey<?>> keys) {
        return select(settings, provider, "", keys);
    }

    /**
     * Selects a provider's settings and parses them. All settings of providers are read here. The result remembers the
     * values, see {@link AllocatorOptions#get}.
     *
     * @param device the device that the settings name, empty for those that name none
     * @return its settings, without the prefix; the origin of those for a device names it
     * @throws InvalidOptionException for the first key that is unknown or has a value that is not accepted; it names
     *     the key with its prefix
     */
    public AllocatorOptions select(
            Map<String, String> settings, String provider, String device, Collection<? extends OptionKey<?>> keys) {
        final String prefix = prefix(provider) + (device.isEmpty() ? "" : device + ".");
        final String from = origin + (device.isEmpty() ? "" : " " + device);
        final Map<String, OptionKey<?>> byName = new TreeMap<>();
        keys.forEach(key -> byName.put(prefix + key.name(), key));
        AllocatorOptions selected = AllocatorOptions.EMPTY;
        for (final Map.Entry<String, String> setting : settings.entrySet()) {
            final String name = setting.getKey();
            if (name.startsWith(prefix) && device(name, provider).equals(device)) {
                final OptionKey<?> key = byName.get(name);
                if (key == null) {
                    throw InvalidOptionException.unknownKey(name, setting.getValue(), origin, byName.keySet());
                }
                selected = selected.with(key.name(), setting.getValue(), from);
                parse(selected, key, name);
            }
        }
        return selected;
    }

    private void parse(AllocatorOptions settings, OptionKey<?> key, String name) {
        try {
            settings.get(key);
        } catch (InvalidOptionException e) {
            throw new InvalidOptionException(name, e.value(), e.accepted(), origin);
        }
    }

    /**
     * Makes the exception for a key that is not understood here. If it belongs to another place, or lacks the name of a
     * provider, the message says which key to write, and where.
     */
    public InvalidOptionException unknown(String key, String value) {
        if (RUN.accepts(key)) {
            return misplaced(key, value, "of one run: set it in " + RUN.setter + ", for each run that it is meant for");
        }
        if (SESSION.accepts(key)) {
            return misplaced(key, value, "of a session: set it in " + SESSION.setter);
        }
        if (ENVIRONMENT.accepts(key)) {
            return misplaced(key, value, "of an environment: set it in " + ENVIRONMENT.setter);
        }
        if (key.startsWith(ARENA)) {
            final OptionPlace place = this == RUN ? SESSION : this;
            return misplaced(
                    key,
                    value,
                    "of a provider's allocators: set " + place.form(key) + " in " + place.setter + ", such as "
                            + place.prefix("cpu-reference") + key);
        }
        final List<String> known = new ArrayList<>(keys);
        if (!providerPrefix.isEmpty()) {
            known.add(form("<key>"));
        }
        if (this == ENVIRONMENT) {
            known.add(DeviceLimits.FORM);
        }
        return InvalidOptionException.unknownKey(key, value, origin, known);
    }

    /** Returns how a key of any provider is written here. */
    private String form(String key) {
        return providerPrefix + (this == SESSION ? "<provider in lower case>." : "<provider>.") + key;
    }

    private InvalidOptionException misplaced(String key, String value, String belongs) {
        return new InvalidOptionException(key, value, "accepted here; it is an option " + belongs, origin);
    }
}
