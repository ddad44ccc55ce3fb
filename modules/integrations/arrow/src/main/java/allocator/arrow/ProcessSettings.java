package allocator.arrow;

import allocator.provider.support.Limit;
import allocator.provider.support.budget.Budget;
import allocator.spi.AllocatorOptions;
import allocator.spi.InvalidOptionException;
import allocator.spi.OptionKey;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.apache.arrow.memory.rounding.DefaultRoundingPolicy;

/** The system properties {@code java.allocator.arrow.*}: keys of this module, and those of the provider. */
final class ProcessSettings {
    static final String PREFIX = "java.allocator.arrow.";

    private static final String ORIGIN = "system property ";

    /** Any text; whether there is such a provider is seen when it is searched for. */
    static final String PROVIDER = "provider";

    /** Between the parts of a provider's key, such as {@code arena.max_mem}. Keys of this module have one part. */
    private static final char SEPARATOR = '.';

    static final OptionKey<Long> BUDGET = OptionKey.limit("budget", "the most bytes that all buffers may have in use");
    static final OptionKey<Boolean> CHILD_BUDGETS =
            OptionKey.flag("child_budgets", false, "1: failed requests list what each Arrow allocator holds");
    static final OptionKey<Boolean> TRACK_LEAKS =
            OptionKey.flag("track_leaks", false, "1: buffers live at the end are reported with their call stacks");
    static final OptionKey<Integer> SHRINK_SECONDS =
            OptionKey.count("shrink_seconds", 10, "interval at which idle memory is returned; 0 is never");

    static final List<OptionKey<?>> KEYS = List.of(BUDGET, CHILD_BUDGETS, TRACK_LEAKS, SHRINK_SECONDS);

    private static final List<String> NAMES = Stream.concat(
                    Stream.of(PROVIDER), KEYS.stream().map(OptionKey::name))
            .toList();

    private final AllocatorOptions own;
    private final AllocatorOptions ofProvider;

    private ProcessSettings(AllocatorOptions own, AllocatorOptions ofProvider) {
        this.own = own;
        this.ofProvider = ofProvider;
    }

    /**
     * Reads and checks the settings; those of the provider are checked when it is opened.
     *
     * @throws InvalidOptionException if a key of this module is unknown, or a value not accepted
     */
    static ProcessSettings of(Properties properties) {
        requireTexts(properties);
        AllocatorOptions own = AllocatorOptions.EMPTY;
        AllocatorOptions ofProvider = AllocatorOptions.EMPTY;
        for (final String name : new TreeSet<>(properties.stringPropertyNames())) {
            if (name.startsWith(PREFIX)) {
                final String key = name.substring(PREFIX.length());
                final String value = properties.getProperty(name);
                final String origin = ORIGIN + name;
                if (key.indexOf(SEPARATOR) >= 0) {
                    ofProvider = ofProvider.with(key, value, origin);
                } else if (NAMES.contains(key)) {
                    own = own.with(key, value, origin);
                } else {
                    throw InvalidOptionException.unknownKey(key, value, origin, NAMES);
                }
            }
        }
        final ProcessSettings settings = new ProcessSettings(own, ofProvider);
        settings.requireValid();
        return settings;
    }

    /** A program may put any object into the properties, which then have no text for the key. */
    private static void requireTexts(Properties properties) {
        for (final Map.Entry<Object, Object> property : Map.copyOf(properties).entrySet()) {
            if (property.getKey() instanceof String name
                    && name.startsWith(PREFIX)
                    && !(property.getValue() instanceof String)) {
                throw new InvalidOptionException(
                        name.substring(PREFIX.length()),
                        property.getValue().getClass().getName(),
                        "a text; set the property to a String",
                        ORIGIN + name);
            }
        }
    }

    private void requireValid() {
        KEYS.forEach(own::get);
        requireChunk(BUDGET, own);
        requireChunk(Limit.KEY, ofProvider);
    }

    /** Arrow rounds a request of more than half a chunk up to one, so a lower limit rejects what is below it. */
    private static void requireChunk(OptionKey<Long> key, AllocatorOptions options) {
        final long chunk = DefaultRoundingPolicy.DEFAULT_ROUNDING_POLICY.chunkSize;
        final long limit = options.get(key);
        if (limit > 0 && limit < chunk) {
            throw new InvalidOptionException(
                    key.name(),
                    String.valueOf(limit),
                    "0 for no limit, or at least " + chunk + ", the chunk to which Arrow rounds requests; "
                            + "-Dorg.apache.memory.allocator.maxOrder=N makes the chunk 2^N pages of 8 KiB",
                    options.origin(key.name()));
        }
    }

    boolean isTrackingLeaks() {
        return own.get(TRACK_LEAKS);
    }

    /**
     * Opens memory with these settings.
     *
     * @throws InvalidOptionException if an option is unknown or its value not accepted
     */
    ArrowMemory open() {
        final ArrowMemoryBuilder builder =
                ArrowMemory.builder().options(ofProvider).shrinkEvery(Duration.ofSeconds(own.get(SHRINK_SECONDS)));
        final String provider = own.value(PROVIDER);
        if (provider != null) {
            builder.provider(provider);
        }
        if (isTrackingLeaks()) {
            builder.trackLeaks();
        }
        final long limit = own.get(BUDGET);
        final Budget budget = Budget.of("arrow", limit == 0 ? Budget.UNLIMITED : limit);
        if (own.get(CHILD_BUDGETS)) {
            builder.childBudgets(budget);
        } else if (limit > 0) {
            builder.budget(budget);
        }
        try {
            return builder.open();
        } catch (IllegalArgumentException e) {
            final String key = PREFIX + PROVIDER;
            throw new IllegalStateException(
                    provider == null ? e.getMessage() : e.getMessage() + " (from system property " + key + ")", e);
        }
    }
}
