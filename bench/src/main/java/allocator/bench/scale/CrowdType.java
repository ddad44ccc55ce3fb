package allocator.bench.scale;

import allocator.arena.ArenaAllocator;
import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.arena.bump.BumpAllocator;
import allocator.arena.bump.BumpConfig;
import allocator.bench.AddressSource;
import allocator.bench.subject.MallocAllocator;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.runtime.Environment;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.spi.AllocatorOptions;
import java.util.Locale;
import java.util.Map;

/** What there can be many of. */
enum CrowdType {
    BLOCKS_ARENA("live blocks in an arena", 1_000_000, true) {
        @Override
        Crowd open(int most) {
            return blocks(AllocatorOptions.EMPTY, most);
        }
    },
    BLOCKS_ARENA_QUICK("live blocks in an arena, quick fit", 1_000_000, true) {
        @Override
        Crowd open(int most) {
            return blocks(AllocatorOptions.of(Map.of("arena.policy", "quick-fit")), most);
        }
    },
    BLOCKS_BUMP("live blocks in a bump allocator, the oldest replaced", 1_000_000, true) {
        @Override
        Crowd open(int most) {
            final BumpAllocator allocator = bump(LARGE_REGION);
            return new BlockCrowd(allocator, true, most, allocator::shrink, allocator::close);
        }
    },
    BLOCKS_SESSION("live blocks of a session of cpu-reference", 1_000_000, false) {
        @Override
        Crowd open(int most) {
            final Environment environment = cpuReference();
            final Session session = environment.openSession(SessionOptions.DEFAULT);
            final ManagedAllocator allocator = session.allocator();
            return new BlockCrowd(allocator, false, most, allocator::shrink, () -> {
                session.close();
                environment.close();
            });
        }
    },
    BLOCKS_MALLOC("live blocks of the C library's malloc, to compare", 1_000_000, false) {
        @Override
        Crowd open(int most) {
            return new BlockCrowd(new MallocAllocator(), false, most, () -> {}, () -> {});
        }
    },
    STREAMS_ARENA("streams with memory of an arena", 20_000, true) {
        @Override
        Crowd open(int most) {
            return new StreamCrowd(StreamMemory.of(arena(AllocatorOptions.EMPTY)), most);
        }
    },
    STREAMS_BUMP("streams with memory of a bump allocator", 20_000, true) {
        @Override
        Crowd open(int most) {
            return new StreamCrowd(StreamMemory.of(bump(SMALL_REGION)), most);
        }
    },
    SESSIONS("open sessions of cpu-reference, one arena for all", 10_000, false) {
        @Override
        Crowd open(int most) {
            return new SessionCrowd(cpuReference(), SessionOptions.DEFAULT, most, () -> {});
        }
    },
    SESSIONS_EXCLUSIVE("open sessions of cpu-reference, each with an arena of its own", 10_000, false) {
        @Override
        Crowd open(int most) {
            final SessionOptions options = SessionOptions.builder()
                    .option("ep.cpu-reference.arena.exclusive", "1")
                    .build();
            return new SessionCrowd(cpuReference(), options, most, () -> {});
        }
    },
    SESSIONS_CUDA("open sessions of a simulated CUDA device, one arena for all", 10_000, false) {
        @Override
        Crowd open(int most) {
            final SimulatedCudaDriver driver = SimulatedCudaDriver.builder()
                    .withMemory(1L << 40)
                    .withoutContents()
                    .build();
            final SimulatedArenas provider = new SimulatedArenas(driver);
            final Environment environment =
                    Environment.builder().modulePathProviders(false).build();
            environment.register(provider);
            return new SessionCrowd(environment, SessionOptions.DEFAULT, most, driver::close);
        }
    },
    THREADS_ARENA("ended threads that used an arena", 100_000, false) {
        @Override
        Crowd open(int most) {
            final BfcArena arena = arena(AllocatorOptions.EMPTY);
            return new ThreadCrowd(new ArenaAllocator(arena, AllocatorOptions.EMPTY), arena::close);
        }
    },
    THREADS_SESSION("ended threads that used a session of cpu-reference", 100_000, false) {
        @Override
        Crowd open(int most) {
            final Environment environment = cpuReference();
            final Session session = environment.openSession(SessionOptions.DEFAULT);
            return new ThreadCrowd(session.allocator(), () -> {
                session.close();
                environment.close();
            });
        }
    };

    private static final long LARGE_REGION = 1 << 20;
    private static final long SMALL_REGION = 1 << 16;

    private final String description;
    private final int most;
    private final boolean closesWithMembers;

    CrowdType(String description, int most, boolean closesWithMembers) {
        this.description = description;
        this.most = most;
        this.closesWithMembers = closesWithMembers;
    }

    /** Opens an empty crowd. */
    abstract Crowd open(int most);

    String description() {
        return description;
    }

    /** How many are asked for. */
    int most() {
        return most;
    }

    /** Whether a close with members is measured. */
    boolean closesWithMembers() {
        return closesWithMembers;
    }

    /** Whether other threads work than the one that measures. */
    boolean isThreaded() {
        return this == THREADS_ARENA || this == THREADS_SESSION;
    }

    private static BfcArena arena(AllocatorOptions options) {
        return new BfcArena(new AddressSource(), ArenaConfig.from(options));
    }

    private static Crowd blocks(AllocatorOptions options, int most) {
        final BfcArena arena = arena(options);
        return new BlockCrowd(new ArenaAllocator(arena, options), false, most, arena::shrink, arena::close);
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
