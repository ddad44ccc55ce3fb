package allocator.runtime;

import allocator.spi.Allocator;
import allocator.spi.InvalidOptionException;
import allocator.spi.OptionKey;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.function.UnaryOperator;

/** Which devices a session uses and how its allocators are made. Immutable. */
public final class SessionOptions {
    /** {@code 1}: the environment's allocators are used wherever it has one, instead of the session's own. */
    public static final OptionKey<Boolean> USE_ENV_ALLOCATORS = OptionKey.flag(
            "session.use_env_allocators", false, "1: use the environment's allocators where it has them");

    /** {@code 1}: {@link Session#allocInitializer} reserves, outside the growth of an arena. */
    public static final OptionKey<Boolean> USE_DEVICE_ALLOCATOR_FOR_INITIALIZERS = OptionKey.flag(
            "session.use_device_allocator_for_initializers", false, "1: initializers bypass the arena through reserve");

    /** The best device found, and no settings. */
    public static final SessionOptions DEFAULT = builder().build();

    static final List<String> KEYS = List.of(USE_ENV_ALLOCATORS.name(), USE_DEVICE_ALLOCATOR_FOR_INITIALIZERS.name());

    /** A device as it was asked for: by itself, or by its provider's name and perhaps its number. */
    record Wanted(String provider, OptionalInt ordinal, Optional<ProviderDevice> device) {
        boolean matches(ProviderDevice candidate) {
            return device.map(candidate::equals)
                    .orElseGet(() -> candidate.provider().equals(provider)
                            && (ordinal.isEmpty() || ordinal.getAsInt() == candidate.ordinal()));
        }

        @Override
        public String toString() {
            return device.map(ProviderDevice::toString)
                    .orElseGet(() -> provider + (ordinal.isEmpty() ? "" : " device " + ordinal.getAsInt()));
        }
    }

    private final String name;
    private final List<Wanted> wanted;
    private final Map<String, String> settings;
    private final UnaryOperator<Allocator> decorator;

    private SessionOptions(Builder builder) {
        name = builder.name;
        wanted = List.copyOf(builder.wanted);
        settings = Collections.unmodifiableMap(new TreeMap<>(builder.settings));
        decorator = builder.decorator;
    }

    /**
     * Begins with the defaults.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /** The session's name, empty to have one made. */
    String name() {
        return name;
    }

    List<Wanted> wanted() {
        return wanted;
    }

    /**
     * The settings by key.
     *
     * @return an unmodifiable map in key order
     */
    public Map<String, String> settings() {
        return settings;
    }

    UnaryOperator<Allocator> decorator() {
        return decorator;
    }

    boolean isSet(OptionKey<Boolean> key) {
        final String value = settings.get(key.name());
        return value == null ? key.defaultValue() : key.parse(value, Settings.SESSION);
    }

    /** Collects {@link SessionOptions}. Not for use by several threads. */
    public static final class Builder {
        private String name = "";
        private final List<Wanted> wanted = new ArrayList<>();
        private final Map<String, String> settings = new TreeMap<>();
        private UnaryOperator<Allocator> decorator = UnaryOperator.identity();

        private Builder() {}

        /**
         * Names the session in messages and reports.
         *
         * @param value such as the name of its model
         * @return this builder
         */
        public Builder name(String value) {
            name = Objects.requireNonNull(value, "value");
            return this;
        }

        /**
         * Adds a device. The first one that is added is the session's default device; where two offer the same memory,
         * the first one wins. Without any the session takes the best device found: a GPU, then an NPU, then a CPU, by
         * provider name among equals.
         *
         * @param device a device of the environment
         * @return this builder
         */
        public Builder device(ProviderDevice device) {
            wanted.add(new Wanted(device.provider(), OptionalInt.empty(), Optional.of(device)));
            return this;
        }

        /**
         * Adds the first device of a provider.
         *
         * @param provider its exact name
         * @return this builder
         */
        public Builder provider(String provider) {
            Objects.requireNonNull(provider, "provider");
            wanted.add(new Wanted(provider, OptionalInt.empty(), Optional.empty()));
            return this;
        }

        /**
         * Adds a device of a provider.
         *
         * @param provider its exact name
         * @param ordinal the device's number, see {@link ProviderDevice#ordinal}
         * @return this builder
         */
        public Builder provider(String provider, int ordinal) {
            Objects.requireNonNull(provider, "provider");
            wanted.add(new Wanted(provider, OptionalInt.of(ordinal), Optional.empty()));
            return this;
        }

        /**
         * Sets an option: one of the keys of this class, or {@code ep.<provider name in lower case>.<key of the
         * provider>}, such as {@code ep.cudaarena.arena.max_mem}. A session with keys of a provider gets instances of
         * its own from it, so that they apply. Provider keys are checked when the session is opened.
         *
         * @param key the key
         * @param value its value
         * @return this builder
         * @throws InvalidOptionException if the key is unknown, belongs elsewhere, or its value is not accepted
         */
        public Builder option(String key, String value) {
            Objects.requireNonNull(value, "value");
            if (key.equals(USE_ENV_ALLOCATORS.name())) {
                USE_ENV_ALLOCATORS.parse(value, Settings.SESSION);
            } else if (key.equals(USE_DEVICE_ALLOCATOR_FOR_INITIALIZERS.name())) {
                USE_DEVICE_ALLOCATOR_FOR_INITIALIZERS.parse(value, Settings.SESSION);
            } else if (!key.startsWith("ep.")) {
                throw OptionPlaces.unknown(key, value, Settings.SESSION, KEYS);
            }
            settings.put(key, value);
            return this;
        }

        /**
         * Lays something between the session and its allocators, such as a recorder or a budget. It is asked once for
         * each allocator when the session is opened, and answers with one of the same info. What it answers is not
         * closed by the session.
         *
         * @param value makes the decorated allocator from the provider's
         * @return this builder
         */
        public Builder decorator(UnaryOperator<Allocator> value) {
            decorator = Objects.requireNonNull(value, "value");
            return this;
        }

        /**
         * Makes the options.
         *
         * @return the options set so far
         */
        public SessionOptions build() {
            return new SessionOptions(this);
        }
    }
}
