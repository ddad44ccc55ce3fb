package allocator.bench;

import allocator.spi.Allocator;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.infra.Blackhole;

/**
 * One free and one allocation in the middle of a workload, by every thread on one allocator. A block's memory is never
 * touched. Run by {@code bench/run}; the subjects are those of {@link Subject}.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(3)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 10, time = 1)
public class AllocFreePair {
    private static final int PAIRS = 1000;

    /** The allocator, which all threads share. */
    @State(Scope.Benchmark)
    public static class Shared {
        /** What is measured, a name of {@link Subject}. */
        @Param({"ort", "arena", "cpu-reference", "runtime", "malloc"})
        public String subject = "";

        /** What is done: {@code large}, {@code replay} or {@code small}. */
        @Param({"large", "replay", "small"})
        public String workload = "";

        private final AtomicInteger threads = new AtomicInteger();
        private Subject open = Subject.none();

        /** Opens the subject. */
        @Setup(Level.Trial)
        public void open() {
            open = Subject.open(subject);
        }

        /** Closes the subject once every thread has freed its blocks: JMH ends shared states while threads still end theirs. */
        private void leave() {
            if (threads.decrementAndGet() == 0) {
                open.close();
            }
        }
    }

    /** A thread's blocks and its place in its workload. */
    @State(Scope.Thread)
    public static class Player {
        private Allocator allocator = Subject.none().allocator();
        private int[] events = {};
        private int[] sizes = {};
        private long[] blocks = {};
        private int next;

        /** Makes the blocks that are there before the first event. */
        @Setup(Level.Trial)
        public void fill(Shared shared) {
            final Workload workload = Workload.of(Workload.Kind.of(shared.workload), shared.threads.getAndIncrement());
            allocator = shared.open.allocator();
            events = workload.events();
            sizes = workload.sizes();
            blocks = new long[workload.slots()];
            for (int i = 0; i < workload.fill().length; i++) {
                blocks[i] = allocator.alloc(workload.fill()[i]);
            }
        }

        /** Frees what lives. */
        @TearDown(Level.Trial)
        public void drain(Shared shared) {
            for (final long block : blocks) {
                allocator.free(block);
            }
            shared.leave();
        }

        private void play(int count) {
            int i = next;
            for (int done = 0; done < count; done++) {
                final int slot = events[i];
                final int size = sizes[i];
                if (size == 0) {
                    allocator.free(blocks[slot]);
                    blocks[slot] = 0;
                } else {
                    blocks[slot] = allocator.alloc(size);
                }
                if (++i == events.length) {
                    i = 0;
                }
            }
            next = i;
        }
    }

    private static final MethodHandle ABS = abs();

    @SuppressWarnings("restricted")
    private static MethodHandle abs() {
        final Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(
                linker.defaultLookup().findOrThrow("abs"),
                FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));
    }

    /** One free and one allocation. */
    @Benchmark
    @OperationsPerInvocation(PAIRS)
    public void pair(Player player) {
        player.play(2 * PAIRS);
    }

    /** The call of a native function that does next to nothing: what {@code java.lang.foreign} adds to each native call. */
    @Benchmark
    @OperationsPerInvocation(PAIRS)
    public void downcall(Blackhole blackhole) throws Throwable {
        for (int i = 0; i < PAIRS; i++) {
            blackhole.consume((int) ABS.invokeExact(-i));
        }
    }
}
