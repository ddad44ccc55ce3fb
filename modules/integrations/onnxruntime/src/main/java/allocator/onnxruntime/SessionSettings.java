package allocator.onnxruntime;

import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import java.util.Objects;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** What is particular to one session's memory. Immutable; begin with {@link #DEFAULT}. */
public final class SessionSettings {
    /** No budget of its own, named after its model. */
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
     * These settings with a name for the session, which stands in its failures, events and logs.
     *
     * @param sessionName the name
     * @return the settings
     */
    public SessionSettings withName(String sessionName) {
        return new SessionSettings(Objects.requireNonNull(sessionName, "sessionName"), budget, decorator);
    }

    /**
     * These settings with a budget: the most that the session may have in use, weights included, in bytes that it asked
     * for.
     *
     * @param bytes the budget, {@link AllocatorStats#UNLIMITED} for none
     * @return the settings
     */
    public SessionSettings withBudget(long bytes) {
        return new SessionSettings(name, bytes, decorator);
    }

    /**
     * These settings with something between the session and the allocator: what a recorder of traces needs, for
     * instance.
     *
     * @param wrapper makes the allocator that the session uses from the one that it would have used; called once
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
