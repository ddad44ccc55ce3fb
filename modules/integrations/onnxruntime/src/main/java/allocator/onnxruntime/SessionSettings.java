package allocator.onnxruntime;

import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import java.util.Objects;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Settings of one session's memory: name, budget, decorator. Immutable; start from {@link #DEFAULT}. */
public final class SessionSettings {
    /** No name, so the model's is used; no budget; no decorator. */
    public static final SessionSettings DEFAULT =
            new SessionSettings(null, AllocatorStats.UNLIMITED, UnaryOperator.identity());

    private final @Nullable String name;
    private final long budget;
    private final UnaryOperator<Allocator> decorator;

    private SessionSettings(@Nullable String name, long budget, UnaryOperator<Allocator> decorator) {
        this.name = name;
        this.budget = budget;
        this.decorator = decorator;
    }

    /**
     * Returns these settings with a name for the session, which its failures, events and log lines contain.
     *
     * @param sessionName the name
     * @return the settings
     */
    public SessionSettings withName(String sessionName) {
        return new SessionSettings(Objects.requireNonNull(sessionName, "sessionName"), budget, decorator);
    }

    /**
     * Returns these settings with a budget: the most that the session may have in use, weights included, in requested
     * bytes.
     *
     * @param bytes the budget, {@link AllocatorStats#UNLIMITED} for none
     * @return the settings
     */
    public SessionSettings withBudget(long bytes) {
        return new SessionSettings(name, bytes, decorator);
    }

    /**
     * Returns these settings with a wrapper around the session's allocator, such as a recorder of traces.
     *
     * @param wrapper returns the allocator that the session uses, given the one beneath; called once for each session
     * @return the settings
     */
    public SessionSettings withDecorator(UnaryOperator<Allocator> wrapper) {
        return new SessionSettings(name, budget, Objects.requireNonNull(wrapper, "wrapper"));
    }

    Optional<String> name() {
        return Optional.ofNullable(name);
    }

    long budget() {
        return budget;
    }

    UnaryOperator<Allocator> decorator() {
        return decorator;
    }
}
