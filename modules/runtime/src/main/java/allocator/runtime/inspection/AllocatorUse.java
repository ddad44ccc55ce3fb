package allocator.runtime.inspection;

import allocator.runtime.discovery.Causes;
import allocator.runtime.snapshot.Snapshot.AllocatorState;
import allocator.runtime.snapshot.Snapshot.Site;
import allocator.runtime.snapshot.Snapshot.User;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.AllocatorStats;
import allocator.spi.MemoryInfo;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * One owner's use of an allocator: who it is, and the calls that describe the instance.
 *
 * @param instance the entry of the provider's allocator, equal for all that use it
 * @param user the owner and its live blocks at the moment
 * @param liveBlocks counts the live blocks of the owner
 * @param isReleased whether the owner has released the instance
 * @param inspect lists the chunks, if the allocator can
 * @param sites adds where this owner's blocks were allocated, as far as it is known
 */
public record AllocatorUse(
        Object instance,
        String provider,
        MemoryInfo info,
        User user,
        LongSupplier liveBlocks,
        BooleanSupplier isReleased,
        Supplier<Optional<AllocatorSnapshot>> inspect,
        Supplier<AllocatorStats> stats,
        Supplier<AllocatorOptions> options,
        Consumer<Map<Long, Site>> sites) {

    /**
     * Describes each instance once, with all its users.
     *
     * @return the instances, in the order of their first uses; one that is released meanwhile is left out
     */
    public static List<AllocatorState> describe(Stream<AllocatorUse> uses) {
        final Map<Object, List<AllocatorUse>> byInstance = new LinkedHashMap<>();
        uses.forEach(use ->
                byInstance.computeIfAbsent(use.instance, _ -> new ArrayList<>()).add(use));
        final List<AllocatorState> states = new ArrayList<>();
        byInstance.values().forEach(of -> of.getFirst().describe(of).ifPresent(states::add));
        return states;
    }

    private Optional<AllocatorState> describe(List<AllocatorUse> uses) {
        AllocatorSnapshot chunks = AllocatorSnapshot.EMPTY;
        String missing = "the provider's allocator does not list its chunks";
        AllocatorStats counted = AllocatorStats.NONE;
        Map<String, String> effective = Map.of();
        try {
            final Optional<AllocatorSnapshot> known = inspect.get();
            if (known.isPresent()) {
                chunks = known.get();
                missing = "";
            }
            counted = stats.get();
            effective = options.get().toMap();
        } catch (RuntimeException e) {
            if (isReleased.getAsBoolean()) {
                return Optional.empty();
            }
            missing = "the provider failed: " + Causes.describe(e);
        }
        final Map<Long, Site> known = new LinkedHashMap<>();
        uses.forEach(use -> use.sites.accept(known));
        if (!known.isEmpty() && missing.isEmpty()) {
            known.keySet().retainAll(liveAddresses(chunks));
        }
        return Optional.of(new AllocatorState(
                provider,
                info,
                effective,
                counted,
                uses.stream().map(AllocatorUse::user).toList(),
                chunks,
                missing,
                known));
    }

    /** Returns the live blocks' addresses. A block freed by another owner stays recorded for its allocating one. */
    static Set<Long> liveAddresses(AllocatorSnapshot memory) {
        final Set<Long> live = new HashSet<>();
        Stream.concat(memory.regions().stream().flatMap(region -> region.chunks().stream()), memory.blocks().stream())
                .filter(chunk -> chunk.state() == State.LIVE)
                .map(Chunk::address)
                .forEach(live::add);
        return live;
    }
}
