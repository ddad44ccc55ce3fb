package allocator.runtime;

import allocator.spi.InvalidOptionException;
import allocator.spi.OptionKey;
import java.util.List;

/** How a run begins and ends. Immutable. */
public final class RunOptions {
    /**
     * The arenas to shrink when the run is over, such as {@code cpu:0;gpu:0}: device types with an ordinal, {@code 0}
     * if left out, separated by semicolons. All of it is checked before the work begins.
     */
    public static final String SHRINK_KEY = "memory.enable_memory_arena_shrinkage";

    /** {@code 1}: the run's streams are not synchronized when it ends. */
    public static final OptionKey<Boolean> DISABLE_SYNCHRONIZE = OptionKey.flag(
            "disable_synchronize_execution_providers", false, "1: do not wait for the run's streams when it ends");

    /** Synchronizes when the run ends and shrinks nothing. */
    public static final RunOptions DEFAULT = builder().build();

    /** The origin of run options in messages. */
    static final String ORIGIN = "run options";

    static final List<String> KEYS = List.of(SHRINK_KEY, DISABLE_SYNCHRONIZE.name());

    private final String shrinkList;
    private final boolean synchronize;

    private RunOptions(Builder builder) {
        shrinkList = builder.shrinkList;
        synchronize = builder.synchronize;
    }

    /**
     * Begins with the defaults.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * The arenas to shrink when the run is over.
     *
     * @return the list as given, empty if there is none
     */
    public String shrinkList() {
        return shrinkList;
    }

    /**
     * Whether the run's streams are synchronized when it ends.
     *
     * @return {@code true} unless switched off
     */
    public boolean isSynchronized() {
        return synchronize;
    }

    /** Collects {@link RunOptions}. Not for use by several threads. */
    public static final class Builder {
        private String shrinkList = "";
        private boolean synchronize = true;

        private Builder() {}

        /**
         * Sets an option by its key.
         *
         * @param key {@link #SHRINK_KEY} or the name of {@link #DISABLE_SYNCHRONIZE}
         * @param value its value
         * @return this builder
         * @throws InvalidOptionException if the key is unknown, belongs elsewhere, or its value is not accepted
         */
        public Builder option(String key, String value) {
            if (key.equals(SHRINK_KEY)) {
                return shrink(value);
            }
            if (key.equals(DISABLE_SYNCHRONIZE.name())) {
                synchronize = !DISABLE_SYNCHRONIZE.parse(value, ORIGIN);
                return this;
            }
            throw OptionPlaces.unknown(key, value, ORIGIN, KEYS);
        }

        /**
         * Sets {@link #SHRINK_KEY}.
         *
         * @param list such as {@code gpu:0}, or empty for none
         * @return this builder
         * @throws InvalidOptionException if the list is not of the accepted form
         */
        public Builder shrink(String list) {
            ShrinkList.parse(list);
            shrinkList = list;
            return this;
        }

        /**
         * Makes the options.
         *
         * @return the options set so far
         */
        public RunOptions build() {
            return new RunOptions(this);
        }
    }
}
