package allocator.bench.scale;

import java.lang.management.ManagementFactory;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.AuxCounters;
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
 * What operations cost beside a million blocks, 20,000 streams, 10,000 sessions or 100,000 ended threads, and beside a
 * tenth and a hundredth of them: a cost that grows tenfold where the number does is linear. And what it costs to make
 * all, to end all one after the other, and to close the allocator with all.
 *
 * <p>Collections leave nothing dead, so that what lives can be counted.
 */
@Fork(
        value = 1,
        jvmArgsAppend = {"-Xms3g", "-Xmx3g", "-XX:+UseSerialGC", "-XX:MarkSweepAlwaysCompactCount=1"})
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 7, time = 200, timeUnit = TimeUnit.MILLISECONDS)
public class BesideMany {
    /** Of everything that works here, which says the same each time it is opened. */
    private static final Logger LOGGER = Logger.getLogger("allocator");

    /** A kind of thing, and how many there are. */
    @State(Scope.Thread)
    public static class Many {
        /** Of what. */
        @Param({
            "blocks-arena",
            "blocks-arena-quick",
            "blocks-bump",
            "blocks-session",
            "blocks-malloc",
            "streams-arena",
            "streams-bump",
            "sessions",
            "sessions-exclusive",
            "threads-arena",
            "threads-session"
        })
        public String of = "";

        /** The part of the greatest number. */
        @Param({"100", "10", "1"})
        public int dividedBy = 1;

        private int count;
        private @Nullable Crowd crowd;

        Crowd open() {
            LOGGER.setLevel(Level.SEVERE);
            final CrowdType type = CrowdType.of(of);
            count = Math.max(1, type.most() / dividedBy);
            crowd = type.open(count + 1);
            return crowd;
        }

        Crowd fill() {
            final Crowd opened = open();
            for (int i = 0; i < count; i++) {
                opened.add(i);
            }
            return opened;
        }

        Crowd crowd() {
            return Objects.requireNonNull(crowd);
        }

        void empty() {
            for (int i = count - 1; i >= 0; i--) {
                crowd().remove(i);
            }
        }
    }

    /** Many that are there all the time. */
    @State(Scope.Thread)
    public static class Present {
        private Many many = new Many();

        /** Makes all. */
        @Setup
        public void fill(Many ofWhat) {
            many = ofWhat;
            many.fill();
        }

        /** Ends all. */
        @TearDown
        public void close() {
            many.empty();
            many.crowd().close();
        }
    }

    /** None yet, in each invocation. */
    @State(Scope.Thread)
    public static class None {
        private Many many = new Many();

        /** Opens the allocator. */
        @Setup(org.openjdk.jmh.annotations.Level.Invocation)
        public void open(Many ofWhat) {
            many = ofWhat;
            many.open();
        }

        /** Ends all. */
        @TearDown(org.openjdk.jmh.annotations.Level.Invocation)
        public void close() {
            many.empty();
            many.crowd().close();
        }
    }

    /** Many, in each invocation. */
    @State(Scope.Thread)
    public static class All {
        private Many many = new Many();

        /** Makes all. */
        @Setup(org.openjdk.jmh.annotations.Level.Invocation)
        public void fill(Many ofWhat) {
            many = ofWhat;
            many.fill();
        }
    }

    /** What lives on the Java heap. */
    @State(Scope.Thread)
    @AuxCounters(AuxCounters.Type.EVENTS)
    public static class Heap {
        /** More with all members than with none. */
        public long heapBytesWithAll;

        /** More after all have ended, and a shrink, than before the first. */
        public long heapBytesAfterAll;

        private static long live() {
            System.gc();
            System.gc(); // what the first has made unreachable
            return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
        }
    }

    /** Uses a member. */
    @Benchmark
    @BenchmarkMode(Mode.AverageTime)
    @OutputTimeUnit(TimeUnit.NANOSECONDS)
    public void use(Present present) {
        present.many.crowd().use(present.many.count);
    }

    /** Uses a member and ends its run. */
    @Benchmark
    @BenchmarkMode(Mode.AverageTime)
    @OutputTimeUnit(TimeUnit.NANOSECONDS)
    public void useAndEndRun(Present present) {
        present.many.crowd().useAndEndRun(present.many.count);
    }

    /** Makes, uses and ends one more. */
    @Benchmark
    @BenchmarkMode(Mode.AverageTime)
    @OutputTimeUnit(TimeUnit.NANOSECONDS)
    public void comeAndGo(Present present) {
        present.many.crowd().comeAndGo();
    }

    /** Makes all. */
    @Benchmark
    @BenchmarkMode(Mode.SingleShotTime)
    @OutputTimeUnit(TimeUnit.MILLISECONDS)
    public void makeAll(None none) {
        for (int i = 0; i < none.many.count; i++) {
            none.many.crowd().add(i);
        }
    }

    /** Ends all, one after the other. */
    @Benchmark
    @BenchmarkMode(Mode.SingleShotTime)
    @OutputTimeUnit(TimeUnit.MILLISECONDS)
    public void endAll(All all) {
        all.many.empty();
        all.many.crowd().close();
    }

    /** Closes the allocator or the environment with all. */
    @Benchmark
    @BenchmarkMode(Mode.SingleShotTime)
    @OutputTimeUnit(TimeUnit.MILLISECONDS)
    public void closeWithAll(All all) {
        all.many.crowd().close();
    }

    /** The Java heap, with all members and after all have ended. The time says nothing. */
    @Benchmark
    @BenchmarkMode(Mode.SingleShotTime)
    @Warmup(iterations = 1)
    @Measurement(iterations = 1)
    public void heap(Many many, Heap heap) {
        try (Crowd crowd = many.open()) {
            crowd.comeAndGo();
            final long before = Heap.live();
            for (int i = 0; i < many.count; i++) {
                crowd.add(i);
            }
            heap.heapBytesWithAll = Heap.live() - before;
            many.empty();
            crowd.shrink();
            heap.heapBytesAfterAll = Heap.live() - before;
        }
    }
}
