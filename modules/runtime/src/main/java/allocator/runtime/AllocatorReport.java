package allocator.runtime;

import allocator.spi.MemoryInfo;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Where an allocator comes from, and which settings are in force on it and why.
 *
 * @param memory the memory it serves
 * @param provider who made it; {@link #APPLICATION} for one that the application registered
 * @param owner who uses it here: a session's name, or {@link #ENVIRONMENT}
 * @param source how the owner came to it
 * @param settings one entry for every key, in key order
 */
public record AllocatorReport(MemoryInfo memory, String provider, String owner, Source source, List<Setting> settings) {

    /** The provider of an allocator that the application registered. */
    public static final String APPLICATION = "application";

    /** The owner of shared allocators. */
    public static final String ENVIRONMENT = "environment";

    /** How an owner came to its allocator. */
    public enum Source {
        /** Created for this owner; the provider may still have given out an instance that it shares. */
        CREATED,
        /** Created for this owner as an instance that nobody else gets, since the owner has settings of its own. */
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
     * @param requested what was asked for, by the strongest place that names the key; the default where none does
     * @param effective what is in force; {@code null} if the provider does not tell, or the key does not apply to this
     *     memory
     * @param origin the place that {@code requested} comes from: {@code explicit call}, {@code session},
     *     {@code environment}, {@code runtime} or {@code default}
     * @param why why the two differ; empty if they do not
     */
    public record Setting(
            String key, String requested, @Nullable String effective, String origin, String why) {
        /**
         * Whether what was asked for applies.
         *
         * @return whether nothing is to be said about a difference
         */
        public boolean isInForce() {
            return why.isEmpty();
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
}
