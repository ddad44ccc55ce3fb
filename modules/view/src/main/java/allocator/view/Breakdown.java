package allocator.view;

import allocator.runtime.snapshot.Snapshot.AllocatorState;
import allocator.runtime.snapshot.Snapshot.Site;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.State;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;

/** Sums over the chunks of an allocator: by state, and of live blocks by what they have in common. */
public final class Breakdown {
    /** An extent of pages stays with one live byte: smaller spans between live blocks hardly hold a whole one. */
    private static final long LEAST_SPAN_OF_PAGES = 4 << 20;

    private final Map<State, Long> bytes = new EnumMap<>(State.class);
    private final Map<State, Long> largest = new EnumMap<>(State.class);
    private long requestedBytes;
    private long liveBlocks;
    private long largestNotLive;
    private long bytesInLargeSpans;

    private Breakdown() {}

    /**
     * Live blocks that have something in common.
     *
     * @param name what it is
     * @param blocks how many there are
     * @param requested the bytes requested
     * @param bytes their size, padding included
     */
    public record Group(String name, long blocks, long requested, long bytes) {}

    /**
     * Sums up.
     *
     * @param memory the chunks
     * @return the sums
     */
    public static Breakdown of(AllocatorSnapshot memory) {
        final Breakdown breakdown = new Breakdown();
        for (final AllocatorSnapshot.Region region : memory.regions()) {
            long run = 0;
            for (final Chunk chunk : region.chunks()) {
                breakdown.add(chunk);
                final boolean ends =
                        chunk.state() == State.LIVE || chunk.state() == State.UNMAPPED || chunk.state() == State.PINNED;
                if (ends) {
                    breakdown.endSpan(run);
                }
                run = ends ? 0 : run + chunk.byteSize();
            }
            breakdown.endSpan(run);
        }
        memory.blocks().forEach(breakdown::add);
        return breakdown;
    }

    private void endSpan(long byteSize) {
        largestNotLive = Math.max(largestNotLive, byteSize);
        bytesInLargeSpans += byteSize >= LEAST_SPAN_OF_PAGES ? byteSize : 0;
    }

    private void add(Chunk chunk) {
        bytes.merge(chunk.state(), chunk.byteSize(), Long::sum);
        largest.merge(chunk.state(), chunk.byteSize(), Math::max);
        if (chunk.state() == State.LIVE) {
            liveBlocks++;
            requestedBytes += chunk.requestedBytes();
        }
    }

    /**
     * Returns the bytes of all chunks in a state.
     *
     * @param state the state
     * @return the bytes
     */
    public long bytes(State state) {
        return bytes.getOrDefault(state, 0L);
    }

    /**
     * Returns the largest chunk in a state.
     *
     * @param state the state
     * @return its bytes; {@code 0} if there is none
     */
    public long largest(State state) {
        return largest.getOrDefault(state, 0L);
    }

    /**
     * Returns the largest span of a region in which nothing is live: free, waiting and cached chunks side by side.
     *
     * @return its bytes
     */
    public long largestNotLive() {
        return largestNotLive;
    }

    /** Returns the bytes of all spans without a live block that are large enough for an allocator of pages to reuse. */
    long bytesInLargeSpans() {
        return bytesInLargeSpans;
    }

    /**
     * Returns the bytes that could serve requests once nothing waits and nothing is cached.
     *
     * @return free, waiting and cached bytes
     */
    public long reusableBytes() {
        return bytes(State.FREE) + bytes(State.WAITING) + bytes(State.CACHED);
    }

    /**
     * Returns the bytes that the chunks hold.
     *
     * @return the bytes of all states that have memory
     */
    public long heldBytes() {
        return bytes(State.LIVE) + reusableBytes() + bytes(State.PINNED) + bytes(State.UNRETURNED);
    }

    /**
     * Returns the bytes that callers requested of the live blocks.
     *
     * @return the bytes, without padding
     */
    public long requestedBytes() {
        return requestedBytes;
    }

    /**
     * Returns the number of live blocks.
     *
     * @return the number
     */
    public long liveBlocks() {
        return liveBlocks;
    }

    /**
     * Groups live blocks by session, as far as that is known: by what was recorded of a block, otherwise by the only
     * user of the allocator.
     *
     * @param allocator the allocator
     * @return the groups, most bytes first; empty if nothing is known
     */
    public static List<Group> bySession(AllocatorState allocator) {
        final String only =
                allocator.users().size() == 1 ? allocator.users().getFirst().owner() : "not recorded";
        return allocator.sites().isEmpty() && allocator.users().size() != 1
                ? List.of()
                : group(allocator, chunk -> {
                    final Site site = allocator.sites().get(chunk.address());
                    return site == null ? only : site.owner();
                });
    }

    /**
     * Groups live blocks by the place in the program that allocated them.
     *
     * @param allocator the allocator
     * @return the groups, most bytes first; empty if no place was recorded
     */
    public static List<Group> bySite(AllocatorState allocator) {
        return allocator.sites().isEmpty()
                ? List.of()
                : group(allocator, chunk -> {
                    final Site site = allocator.sites().get(chunk.address());
                    return site == null ? "not recorded" : site.frame();
                });
    }

    /**
     * Groups live blocks by stream.
     *
     * @param allocator the allocator
     * @return the groups, most bytes first
     */
    public static List<Group> byStream(AllocatorState allocator) {
        return group(allocator, chunk -> chunk.streamId() == 0 ? "no stream" : "stream " + chunk.streamId());
    }

    /**
     * Groups live blocks by the size of their chunks.
     *
     * @param allocator the allocator
     * @return the groups, most bytes first; the name is the size in bytes
     */
    public static List<Group> bySize(AllocatorState allocator) {
        return group(allocator, chunk -> Long.toString(chunk.byteSize()));
    }

    private static List<Group> group(AllocatorState allocator, Function<Chunk, String> key) {
        final Map<String, long[]> sums = new HashMap<>();
        live(allocator.memoryMap(), chunk -> {
            final long[] sum = sums.computeIfAbsent(key.apply(chunk), _ -> new long[3]);
            sum[0]++;
            sum[1] += chunk.requestedBytes();
            sum[2] += chunk.byteSize();
        });
        final List<Group> groups = new ArrayList<>();
        sums.forEach((name, sum) -> groups.add(new Group(name, sum[0], sum[1], sum[2])));
        groups.sort(Comparator.comparingLong(Group::bytes).reversed().thenComparing(Group::name));
        return groups;
    }

    private static void live(AllocatorSnapshot memory, Consumer<Chunk> action) {
        Stream.concat(memory.regions().stream().flatMap(region -> region.chunks().stream()), memory.blocks().stream())
                .filter(chunk -> chunk.state() == State.LIVE)
                .forEach(action);
    }
}
