package allocator.bench.scale;

import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.arena.StreamArenaAllocator;
import allocator.arena.bump.BumpAllocator;
import allocator.arena.bump.BumpConfig;
import allocator.bench.AddressSource;
import allocator.bench.scale.StreamCrowd.StreamMemory;
import allocator.bench.subject.MallocAllocator;
import allocator.runtime.Environment;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.spi.AllocatorOptions;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.function.IntFunction;

/** What there can be many of. Blocks and streams use addresses without memory. */
enum CrowdType {
    /** Live blocks in an arena. */
    BLOCKS_ARENA(1_000_000, most -> blocks(arena(AllocatorOptions.EMPTY), most)),
    /** Live blocks in an arena with quick fit. */
    BLOCKS_ARENA_QUICK(
            1_000_000, most -> blocks(arena(AllocatorOptions.of(Map.of("arena.policy", "quick-fit"))), most)),
    /** Live blocks in a bump allocator, the oldest of which is replaced. */
    BLOCKS_BUMP(1_000_000, most -> {
        final BumpAllocator allocator = bump(1 << 20);
        return new BlockCrowd(allocator, true, most, allocator::shrink, allocator::close);
    }),
    /** Live blocks of a session of {@code cpu-reference}. */
    BLOCKS_SESSION(1_000_000, most -> {
        final OpenSession open = new OpenSession();
        final ManagedAllocator allocator = open.session.allocator();
        return new BlockCrowd(allocator, false, most, allocator::shrink, open::close);
    }),
    /** Live blocks of the C library's {@code malloc}, to compare. */
    BLOCKS_MALLOC(1_000_000, most -> new BlockCrowd(new MallocAllocator(), false, most, () -> {}, () -> {})),
    /** Streams with memory of an arena. */
    STREAMS_ARENA(20_000, most -> {
        final BfcArena arena = arena(AllocatorOptions.EMPTY);
        return new StreamCrowd(
                new StreamMemory(
                        new StreamArenaAllocator(arena, AllocatorOptions.EMPTY),
                        arena::endRun,
                        arena::releaseStream,
                        arena::shrink,
                        arena::close),
                most);
    }),
    /** Streams with memory of a bump allocator. */
    STREAMS_BUMP(20_000, most -> {
        final BumpAllocator allocator = bump(1 << 16);
        return new StreamCrowd(
                new StreamMemory(
                        allocator, allocator::endRun, allocator::releaseStream, allocator::shrink, allocator::close),
                most);
    }),
    /** Open sessions of {@code cpu-reference}, with one arena for all. */
    SESSIONS(10_000, most -> new SessionCrowd(cpuReference(), SessionOptions.DEFAULT, most)),
    /** Open sessions of {@code cpu-reference}, each with an arena of its own. */
    SESSIONS_EXCLUSIVE(
            10_000,
            most -> new SessionCrowd(
                    cpuReference(),
                    SessionOptions.builder()
                            .option("ep.cpu-reference.arena.exclusive", "1")
                            .build(),
                    most)),
    /** Ended threads that used an arena. */
    THREADS_ARENA(100_000, most -> {
        final BfcArena arena = arena(AllocatorOptions.EMPTY);
        return new ThreadCrowd(new StreamArenaAllocator(arena, AllocatorOptions.EMPTY), arena::close);
    }),
    /** Ended threads that used a session of {@code cpu-reference}. */
    THREADS_SESSION(100_000, most -> {
        final OpenSession open = new OpenSession();
        return new ThreadCrowd(open.session.allocator(), open::close);
    });

    private final int most;

    @SuppressWarnings("ImmutableEnumChecker") // a lambda of this class, without state
    private final IntFunction<Crowd> opener;

    CrowdType(int most, IntFunction<Crowd> opener) {
        this.most = most;
        this.opener = opener;
    }

    /** A session of an environment of its own. */
    private static final class OpenSession {
        private final Environment environment = cpuReference();
        private final Session session = environment.openSession(SessionOptions.DEFAULT);

        void close() {
            session.close();
            environment.close();
        }
    }

    /** @throws IllegalArgumentException if there is none of that name */
    static CrowdType of(String text) {
        return Arrays.stream(values())
                .filter(type -> type.toString().equals(text))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(
                        "nothing is called '" + text + "'; there are " + Arrays.toString(values())));
    }

    /** Opens an empty crowd for at most so many members. */
    Crowd open(int size) {
        return opener.apply(size);
    }

    /** How many there are at most. */
    int most() {
        return most;
    }

    private static BfcArena arena(AllocatorOptions options) {
        return new BfcArena(new AddressSource(), ArenaConfig.from(options));
    }

    private static Crowd blocks(BfcArena arena, int most) {
        return new BlockCrowd(
                new StreamArenaAllocator(arena, AllocatorOptions.EMPTY), false, most, arena::shrink, arena::close);
    }

    private static BumpAllocator bump(long regionBytes) {
        return new BumpAllocator(
                new AddressSource(), new BumpConfig(regionBytes, regionBytes, 0), 0, AllocatorOptions.EMPTY);
    }

    private static Environment cpuReference() {
        return Environment.builder()
                .allowModules("java.allocator.cpu.reference")
                .build();
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
