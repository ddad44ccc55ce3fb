package allocator.onnxruntime;

import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import java.util.Objects;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Settings of one session's memory: name, budget, decorator, profiling. Immutable; start from {@link #DEFAULT}. */
public final class SessionSettings {
    /** No name, so the model's is used; no budget; no decorator; no profiling. */
    public static final SessionSettings DEFAULT = new SessionSettings(
            null, AllocatorStats.UNLIMITED, AllocatorStats.UNLIMITED, UnaryOperator.identity(), false);

    private final @Nullable String name;
    private final long budget;
    private final long gpuBudget;
    private final UnaryOperator<Allocator> decorator;
    private final boolean isProfiled;

    private SessionSettings(
            @Nullable String name,
            long budget,
            long gpuBudget,
            UnaryOperator<Allocator> decorator,
            boolean isProfiled) {
        this.name = name;
        this.budget = budget;
        this.gpuBudget = gpuBudget;
        this.decorator = decorator;
        this.isProfiled = isProfiled;
    }

    /**
     * {@return these settings with a name for the session, which its failures, events and log lines contain}
     *
     * @param sessionName the name
     */
    public SessionSettings withName(String sessionName) {
        return new SessionSettings(
                Objects.requireNonNull(sessionName, "sessionName"), budget, gpuBudget, decorator, isProfiled);
    }

    /**
     * {@return these settings with a budget: the most CPU memory that the session may have in use, weights included, in
     * requested bytes}
     *
     * @param bytes the budget, {@link AllocatorStats#UNLIMITED} for none
     */
    public SessionSettings withBudget(long bytes) {
        return new SessionSettings(name, bytes, gpuBudget, decorator, isProfiled);
    }

    /**
     * {@return these settings with a budget of GPU memory: the most that the session may have in use of each GPU's own
     * memory, weights included, in requested bytes} Pinned memory has no budget.
     *
     * @param bytes the budget, {@link AllocatorStats#UNLIMITED} for none
     */
    public SessionSettings withGpuBudget(long bytes) {
        return new SessionSettings(name, budget, bytes, decorator, isProfiled);
    }

    /**
     * {@return these settings with a wrapper around the session's allocators, such as a recorder of traces} An
     * allocator whose memory is ordered on streams must stay a {@link allocator.spi.StreamAwareAllocator}.
     *
     * @param wrapper returns the allocator that the session uses, given the one beneath; called once for each memory of
     *     each session
     */
    public SessionSettings withDecorator(UnaryOperator<Allocator> wrapper) {
        return new SessionSettings(name, budget, gpuBudget, Objects.requireNonNull(wrapper, "wrapper"), isProfiled);
    }

    /**
     * {@return these settings with profiling, which {@link AllocatorSession#profile} needs} ONNX Runtime's profiler is
     * on from the session's opening until that call, and writes to a folder for temporary files. In the session's
     * options a profile of the caller's own is replaced, and off afterwards.
     */
    public SessionSettings withProfiling() {
        return new SessionSettings(name, budget, gpuBudget, decorator, true);
    }

    Optional<String> name() {
        return Optional.ofNullable(name);
    }

    long budget() {
        return budget;
    }

    long gpuBudget() {
        return gpuBudget;
    }

    UnaryOperator<Allocator> decorator() {
        return decorator;
    }

    boolean isProfiled() {
        return isProfiled;
    }
}
