package allocator.runtime;

import allocator.runtime.inspection.CallSites;
import allocator.runtime.options.OptionPlace;
import allocator.runtime.options.RuntimeKeys;
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

/** The devices of a session and the settings of its allocators. Immutable. */
public final class SessionOptions {
    /**
     * {@code 1}: the session uses the environment's allocators where it has them, instead of its own. A session that
     * adds devices uses those of their providers, and those that the application registered.
     */
    public static final OptionKey<Boolean> USE_ENV_ALLOCATORS = RuntimeKeys.USE_ENV_ALLOCATORS;

    /** {@code 1}: {@link Session#allocInitializer} reserves memory, outside the growth of an arena. */
    public static final OptionKey<Boolean> USE_DEVICE_ALLOCATOR_FOR_INITIALIZERS =
            RuntimeKeys.USE_DEVICE_ALLOCATOR_FOR_INITIALIZERS;

    /**
     * Records where live blocks were allocated, for {@link Session#snapshot}: {@code 1} of every block, a greater
     * number of one block in so many, chosen at random; {@code 0} of none, at no cost.
     */
    public static final OptionKey<Integer> CALL_SITES = RuntimeKeys.CALL_SITES;

    /** The best device found, and no settings. */
    public static final SessionOptions DEFAULT = builder().build();

    /** A device as it was requested: itself, or its provider's name and perhaps its ordinal. */
    record RequestedDevice(String provider, OptionalInt ordinal, Optional<ProviderDevice> device) {
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
    private final List<RequestedDevice> requested;
    private final Map<String, String> settings;
    private final UnaryOperator<Allocator> decorator;
    private final boolean usesEnvironmentAllocators;
    private final boolean reservesInitializers;
    private final int callSites;

    private SessionOptions(Builder builder) {
        name = builder.name;
        requested = List.copyOf(builder.requested);
        settings = Collections.unmodifiableMap(new TreeMap<>(builder.settings));
        decorator = builder.decorator;
        usesEnvironmentAllocators = builder.usesEnvironmentAllocators;
        reservesInitializers = builder.reservesInitializers;
        callSites = builder.callSites;
    }

    /** {@return a builder with the defaults} */
    public static Builder builder() {
        return new Builder();
    }

    /** Returns the session's name, empty if it is to be generated. */
    String name() {
        return name;
    }

    List<RequestedDevice> requestedDevices() {
        return requested;
    }

    /** Returns whether the application chose the devices, and with them their providers. */
    boolean namesDevices() {
        return !requested.isEmpty();
    }

    /** {@return the settings by key, as given: an unmodifiable map in key order} */
    public Map<String, String> settings() {
        return settings;
    }

    /**
     * Returns what wraps each allocator.
     *
     * @param leakInterval the value of {@link #CALL_SITES} if it is not set
     */
    UnaryOperator<Allocator> decorator(int leakInterval) {
        final int interval = settings.containsKey(CALL_SITES.name()) ? callSites : leakInterval;
        return interval == 0 ? decorator : target -> new CallSites(decorator.apply(target), interval);
    }

    /** Returns the value of {@link #USE_ENV_ALLOCATORS}. */
    boolean usesEnvironmentAllocators() {
        return usesEnvironmentAllocators;
    }

    /** Returns the value of {@link #USE_DEVICE_ALLOCATOR_FOR_INITIALIZERS}. */
    boolean reservesInitializers() {
        return reservesInitializers;
    }

    /** Builds {@link SessionOptions}. Not for use by several threads. */
    public static final class Builder {
        private String name = "";
        private final List<RequestedDevice> requested = new ArrayList<>();
        private final Map<String, String> settings = new TreeMap<>();
        private UnaryOperator<Allocator> decorator = UnaryOperator.identity();
        private boolean usesEnvironmentAllocators = USE_ENV_ALLOCATORS.defaultValue();
        private int callSites = CALL_SITES.defaultValue();
        private boolean reservesInitializers = USE_DEVICE_ALLOCATOR_FOR_INITIALIZERS.defaultValue();

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
         * Adds a device. The first device added is the session's default device. If two devices have the same memory,
         * the first one's is used. If none is added the session uses the first of {@link Environment#devices}: a GPU,
         * then an NPU, then a CPU, and among devices of one kind that of the provider that comes first.
         *
         * @param device a device of the environment
         * @return this builder
         */
        public Builder device(ProviderDevice device) {
            requested.add(new RequestedDevice(device.provider(), OptionalInt.empty(), Optional.of(device)));
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
            requested.add(new RequestedDevice(provider, OptionalInt.empty(), Optional.empty()));
            return this;
        }

        /**
         * Adds a device of a provider.
         *
         * @param provider its exact name
         * @param ordinal the device's ordinal, see {@link ProviderDevice#ordinal}
         * @return this builder
         */
        public Builder provider(String provider, int ordinal) {
            Objects.requireNonNull(provider, "provider");
            requested.add(new RequestedDevice(provider, OptionalInt.of(ordinal), Optional.empty()));
            return this;
        }

        /**
         * Sets an option: one of the keys of this class, or {@code ep.<provider name in lower case>.<key of the
         * provider>}, such as {@code ep.cuda-arena.arena.max_mem}. With a device before the key, such as
         * {@code ep.cuda-arena.gpu:1.arena.max_mem}, it is for the memory of that device alone, and overrides what is
         * set for all devices of the provider. A session with settings for a device gets instances of its own there, so
         * that the settings are effective. Provider keys are checked when the session is opened.
         *
         * @param key the key
         * @param value its value
         * @return this builder
         * @throws InvalidOptionException if the key is unknown, belongs elsewhere, or its value is not accepted
         */
        public Builder option(String key, String value) {
            Objects.requireNonNull(value, "value");
            if (key.equals(USE_ENV_ALLOCATORS.name())) {
                usesEnvironmentAllocators = USE_ENV_ALLOCATORS.parse(value, OptionPlace.SESSION.origin());
            } else if (key.equals(USE_DEVICE_ALLOCATOR_FOR_INITIALIZERS.name())) {
                reservesInitializers = USE_DEVICE_ALLOCATOR_FOR_INITIALIZERS.parse(value, OptionPlace.SESSION.origin());
            } else if (key.equals(CALL_SITES.name())) {
                callSites = CALL_SITES.parse(value, OptionPlace.SESSION.origin());
            } else if (!OptionPlace.SESSION.isOfProvider(key)) {
                throw OptionPlace.SESSION.unknown(key, value);
            }
            settings.put(key, value);
            return this;
        }

        /**
         * Wraps each of the session's allocators, for instance in a recorder or a budget. The function is called once
         * for each allocator when the session is opened, and returns an allocator of the same info. The session does
         * not close the wrapper.
         *
         * @param value returns the wrapper of a provider's allocator
         * @return this builder
         */
        public Builder decorator(UnaryOperator<Allocator> value) {
            decorator = Objects.requireNonNull(value, "value");
            return this;
        }

        /** {@return the new options} */
        public SessionOptions build() {
            return new SessionOptions(this);
        }
    }
}
