package allocator.bench;

import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.bench.subject.IdleStream;
import allocator.runtime.Environment;
import allocator.runtime.RunOptions;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What an operation costs beside many streams, sessions and threads: at most as the logarithm of their number, and
 * caches apart not even so. {@code bench/run jmh ScaleBenchmark}. For many blocks see the workloads {@code scale-1000}
 * to {@code scale-1000000}.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(3)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
public class ScaleBenchmark {
    private static final int BLOCKS = 8;
    private static final int MAX_BYTES = 8192;

    /** An arena in which each of many streams has live blocks, and free memory between those of the others. */
    @State(Scope.Benchmark)
    public static class Streams {
        /** How many streams have memory. */
        @Param({"1", "100", "1000", "20000"})
        private int streams;

        private final BfcArena arena = new BfcArena(new AddressSource(), ArenaConfig.DEFAULT);
        private final SplittableRandom random = new SplittableRandom(1);
        private final List<SyncStream> all = new ArrayList<>();
        private long[] blocks = {};

        /** Lets each stream take and replace its blocks in turn. */
        @Setup
        public void fill() {
            blocks = new long[streams * BLOCKS];
            for (int i = 0; i < streams; i++) {
                all.add(new IdleStream(arena.info()));
            }
            for (int round = 0; round < 2 * BLOCKS; round++) {
                for (int i = 0; i < streams; i++) {
                    replace(i * BLOCKS + round % BLOCKS);
                }
            }
        }

        private void replace(int block) {
            arena.free(blocks[block]);
            blocks[block] = arena.allocOnStream(1 + random.nextInt(MAX_BYTES), all.get(block / BLOCKS));
        }
    }

    /** Replaces a block of any of the streams. */
    @Benchmark
    public void pairBesideStreams(Streams state) {
        state.replace(state.random.nextInt(state.blocks.length));
    }

    /** An environment with many open sessions, each of which has run. */
    @State(Scope.Benchmark)
    public static class Sessions {
        /** How many are open. */
        @Param({"1", "100", "1000", "10000"})
        private int sessions;

        private final Environment environment = Environment.builder()
                .allowModules("java.allocator.cpu.reference")
                .build();
        private final List<Session> all = new ArrayList<>();
        private final SplittableRandom random = new SplittableRandom(2);

        /** Opens the sessions. */
        @Setup
        public void open() {
            for (int i = 0; i < sessions; i++) {
                all.add(environment.openSession(SessionOptions.DEFAULT));
                run(all.getLast());
            }
        }

        private static void run(Session session) {
            session.run(RunOptions.DEFAULT, run -> {
                final long address = run.allocator().allocOnStream(MAX_BYTES, run.stream(0));
                run.allocator().free(address);
            });
        }

        /** Closes everything. */
        @TearDown
        public void close() {
            all.forEach(Session::close);
            environment.close();
        }
    }

    /** Runs any of the sessions: a pair, and the end of the run. */
    @Benchmark
    public void runBesideSessions(Sessions state) {
        Sessions.run(state.all.get(state.random.nextInt(state.sessions)));
    }

    /** Opens a session, runs it and closes it. */
    @Benchmark
    public void sessionBesideSessions(Sessions state) {
        try (Session session = state.environment.openSession(SessionOptions.DEFAULT)) {
            Sessions.run(session);
        }
    }

    /** An arena that many short threads have used. */
    @State(Scope.Benchmark)
    public static class Threads {
        /** How many there were. */
        @Param({"1", "100000"})
        private int threads;

        private final BfcArena arena = new BfcArena(new AddressSource(), ArenaConfig.DEFAULT);

        /** Runs the threads, one after the other. */
        @Setup
        public void run() throws InterruptedException {
            for (int i = 0; i < threads; i++) {
                pair();
            }
        }

        private void pair() throws InterruptedException {
            Thread.startVirtualThread(() -> arena.free(arena.alloc(MAX_BYTES))).join();
        }
    }

    /** Starts a thread, in which a block is allocated and freed. */
    @Benchmark
    public void threadAfterThreads(Threads state) throws InterruptedException {
        state.pair();
    }
}
