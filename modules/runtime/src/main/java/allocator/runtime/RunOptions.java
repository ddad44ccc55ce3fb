package allocator.runtime;

import allocator.runtime.options.OptionPlace;
import allocator.runtime.options.RuntimeKeys;
import allocator.runtime.options.ShrinkTarget;
import allocator.spi.InvalidOptionException;
import allocator.spi.OptionKey;
import java.util.List;

/** What happens when a run ends. Immutable. */
public final class RunOptions {
    /**
     * The arenas to shrink when the run ends, such as {@code cpu:0;gpu:0}: device types with an ordinal, {@code 0} if
     * omitted, separated by semicolons. The whole list is checked before the work begins.
     */
    public static final String SHRINK_KEY = RuntimeKeys.SHRINK;

    /** {@code 1}: the run's streams are not synchronized when it ends. */
    public static final OptionKey<Boolean> DISABLE_SYNCHRONIZE = RuntimeKeys.DISABLE_SYNCHRONIZE;

    /** Synchronizes the run's streams when it ends, and shrinks nothing. */
    public static final RunOptions DEFAULT = builder().build();

    private final String shrinkList;
    private final List<ShrinkTarget> shrinkTargets;
    private final boolean synchronize;

    private RunOptions(Builder builder) {
        shrinkList = builder.shrinkList;
        shrinkTargets = builder.shrinkTargets;
        synchronize = builder.synchronize;
    }

    /** {@return a builder with the defaults} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the arenas to shrink when the run ends, as given; empty if there are none} */
    public String shrinkList() {
        return shrinkList;
    }

    /** Returns the entries of {@link #shrinkList}. */
    List<ShrinkTarget> shrinkTargets() {
        return shrinkTargets;
    }

    /** {@return whether the run's streams are synchronized at its end: unless {@link #DISABLE_SYNCHRONIZE} is set} */
    public boolean isSynchronized() {
        return synchronize;
    }

    /** Builds {@link RunOptions}. Not for use by several threads. */
    public static final class Builder {
        private String shrinkList = "";
        private List<ShrinkTarget> shrinkTargets = List.of();
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
                synchronize = !DISABLE_SYNCHRONIZE.parse(value, OptionPlace.RUN.origin());
                return this;
            }
            throw OptionPlace.RUN.unknown(key, value);
        }

        /**
         * Sets {@link #SHRINK_KEY}.
         *
         * @param list such as {@code gpu:0}, or empty for none
         * @return this builder
         * @throws InvalidOptionException if the list is not of the accepted form
         */
        public Builder shrink(String list) {
            shrinkTargets = ShrinkTarget.parse(list, OptionPlace.RUN.origin());
            shrinkList = list;
            return this;
        }

        /** {@return the new options} */
        public RunOptions build() {
            return new RunOptions(this);
        }
    }
}
