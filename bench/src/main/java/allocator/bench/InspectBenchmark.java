package allocator.bench;

import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.spi.AllocatorSnapshot;
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
import org.openjdk.jmh.annotations.Warmup;

/**
 * Listing the chunks of an arena: the whole call, of which other threads wait for the part that copies.
 *
 * <pre>
 * bench/run jmh InspectBenchmark
 * </pre>
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(3)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 10, time = 1)
public class InspectBenchmark {
    /** Live blocks, every second of which has a free neighbour. */
    @Param({"010000", "100000"})
    private int chunks;

    private final BfcArena arena = new BfcArena(new AddressSource(), ArenaConfig.DEFAULT);

    /** Fills the arena. */
    @Setup
    public void fill() {
        final long[] blocks = new long[chunks];
        for (int i = 0; i < chunks; i++) {
            blocks[i] = arena.alloc(256L * (1 + i % 7));
        }
        for (int i = 0; i < chunks; i += 4) {
            arena.free(blocks[i]);
        }
    }

    /** Lists them. */
    @Benchmark
    public AllocatorSnapshot inspect() {
        return arena.inspect();
    }
}
