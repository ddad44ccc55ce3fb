package allocator.bench.arrow;

import allocator.arrow.ArrowMemory;
import java.util.Arrays;
import java.util.Optional;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;

/** An allocation manager of Arrow: one of its own, or ours with a placement policy. */
enum ArrowManager {
    UNSAFE("unsafe", "Unsafe", ""),
    NETTY("netty", "Netty", ""),
    OURS("ours", "Unsafe", "best-fit"),
    SLABS("ours-slabs", "Unsafe", "slabs"),
    COMPACT("ours-compact", "Unsafe", "compact");

    private final String text;

    /** What {@code arrow.allocation.manager.type} is set to: Arrow wants a default, whichever manager it is given. */
    private final String type;

    private final String policy;

    ArrowManager(String text, String type, String policy) {
        this.text = text;
        this.type = type;
        this.policy = policy;
    }

    /**
     * Finds a manager by its name.
     *
     * @throws IllegalArgumentException if there is none of that name
     */
    static ArrowManager of(String text) {
        return Arrays.stream(values())
                .filter(manager -> manager.text.equals(text))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no manager is called '" + text + "'; there are "
                        + String.join(
                                ", ",
                                Arrays.stream(values())
                                        .map(ArrowManager::toString)
                                        .toList())));
    }

    /** Opens our memory; empty if this is one of Arrow's own managers. To be called before Arrow is used. */
    Optional<ArrowMemory> open() {
        System.setProperty("arrow.allocation.manager.type", type);
        return policy.isEmpty()
                ? Optional.empty()
                : Optional.of(
                        ArrowMemory.builder().option("arena.policy", policy).open());
    }

    /** Creates a root allocator without a limit. */
    static BufferAllocator root(Optional<ArrowMemory> memory) {
        return memory.<BufferAllocator>map(ours -> new RootAllocator(RootAllocator.configBuilder()
                        .allocationManagerFactory(ours)
                        .build()))
                .orElseGet(RootAllocator::new);
    }

    @Override
    public String toString() {
        return text;
    }
}
