package allocator.view;

import allocator.runtime.snapshot.BlockName;
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

    /** What live blocks may have in common. */
    public enum By {
        /** The session: by what was recorded of a block, otherwise by the only user of the allocator. */
        SESSION("session"),
        /** What an operator of a model needs them for. */
        KIND("kind"),
        /** The layer of a model. */
        LAYER("layer"),
        /** The operator of a model. */
        OPERATOR("operator"),
        /** The place in the program that allocated them. */
        SITE("call site"),
        /** The stream. */
        STREAM("stream"),
        /** The size of their chunks; the name is the size in bytes. */
        SIZE("size");

        private final String text;

        By(String text) {
            this.text = text;
        }

        /** {@return what it is in plain words} */
        @Override
        public String toString() {
            return text;
        }
    }

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
     * {@return the bytes of all chunks in a state}
     *
     * @param state the state
     */
    public long bytes(State state) {
        return bytes.getOrDefault(state, 0L);
    }

    /**
     * {@return the bytes of the largest chunk in a state; {@code 0} if there is none}
     *
     * @param state the state
     */
    public long largest(State state) {
        return largest.getOrDefault(state, 0L);
    }

    /** {@return the bytes of the largest span of a region in which nothing is live: free, waiting and cached chunks} */
    public long largestNotLive() {
        return largestNotLive;
    }

    /** Returns the bytes of all spans without a live block that are large enough for an allocator of pages to reuse. */
    long bytesInLargeSpans() {
        return bytesInLargeSpans;
    }

    /** {@return the free, waiting and cached bytes, which could serve requests once nothing waits and is cached} */
    public long reusableBytes() {
        return bytes(State.FREE) + bytes(State.WAITING) + bytes(State.CACHED);
    }

    /** {@return the bytes that the chunks hold, of all states that have memory} */
    public long heldBytes() {
        return bytes(State.LIVE) + reusableBytes() + bytes(State.PINNED) + bytes(State.UNRETURNED);
    }

    /** {@return the bytes that callers requested of the live blocks, without padding} */
    public long requestedBytes() {
        return requestedBytes;
    }

    /** {@return the number of live blocks} */
    public long liveBlocks() {
        return liveBlocks;
    }

    /**
     * Groups live blocks by what they have in common.
     *
     * @param by what that is
     * @param allocator the allocator
     * @return the groups, most bytes first; empty if it is not known of any block
     */
    public static List<Group> by(By by, AllocatorState allocator) {
        final Map<String, long[]> sums = new HashMap<>();
        live(allocator.memoryMap(), chunk -> {
            final long[] sum = sums.computeIfAbsent(name(by, allocator, chunk), _ -> new long[3]);
            sum[0]++;
            sum[1] += chunk.requestedBytes();
            sum[2] += chunk.byteSize();
        });
        if (sums.size() == 1 && sums.containsKey("")) {
            return List.of();
        }
        final List<Group> groups = new ArrayList<>();
        sums.forEach(
                (name, sum) -> groups.add(new Group(name.isEmpty() ? "not recorded" : name, sum[0], sum[1], sum[2])));
        groups.sort(Comparator.comparingLong(Group::bytes).reversed().thenComparing(Group::name));
        return groups;
    }

    /** Returns what a live block has in common with others; empty if that is not known. */
    private static String name(By by, AllocatorState allocator, Chunk chunk) {
        final Site site = allocator.sites().get(chunk.address());
        final BlockName name = BlockName.of(site == null ? "" : site.frame());
        return switch (by) {
            case SESSION -> {
                final String only = allocator.users().size() == 1
                        ? allocator.users().getFirst().owner()
                        : "";
                yield site == null ? only : site.owner();
            }
            case KIND -> name.kind();
            case LAYER -> name.layer();
            case OPERATOR -> name.node();
            case SITE -> name.line();
            case STREAM -> chunk.streamId() == 0 ? "no stream" : "stream " + chunk.streamId();
            case SIZE -> Long.toString(chunk.byteSize());
        };
    }

    private static void live(AllocatorSnapshot memory, Consumer<Chunk> action) {
        Stream.concat(memory.regions().stream().flatMap(region -> region.chunks().stream()), memory.blocks().stream())
                .filter(chunk -> chunk.state() == State.LIVE)
                .forEach(action);
    }
}
