package allocator.bench.pairs;

import allocator.bench.models.RecordedEvents;
import allocator.bench.subject.Subject;
import allocator.bench.subject.SubjectType;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
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

/**
 * One free and one allocation in the middle of a workload, by every thread on one allocator. A block's memory is never
 * touched. {@link Rivals} runs it for all subjects; {@code bench/run jmh AllocFreePair} takes any subject and workload
 * as well.
 *
 * <p>The scripts have JMH use Netty's threads, whose allocators keep caches for no others. A rival is warmed up for
 * five seconds: glibc's malloc becomes faster for seconds, as it adapts and its heap grows. The compiler works in the
 * foreground, as elsewhere it may not be done when the warm-up is.
 */
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(
        value = 3,
        jvmArgsAppend = {"-Xms1g", "-Xmx1g", "-Xbatch", "-XX:MaxDirectMemorySize=16g"})
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 200, timeUnit = TimeUnit.MILLISECONDS)
public class AllocFreePair {
    private static final int PAIRS = 1000;

    /** The allocator, which all threads share. */
    @State(Scope.Benchmark)
    public static class Shared {
        /** What is measured. */
        @Param({"arena", "ort", "netty-pooled", "malloc", "cpu-reference", "session"})
        public String subject = "";

        /** What is done. */
        @Param({"large", "replay", "small"})
        public String workload = "";

        /** Which events of it are recorded; see {@link RecordedEvents}. */
        @Param("none")
        public String events = "";

        private final AtomicInteger threads = new AtomicInteger();
        private @Nullable Subject open;

        /** Opens the subject. */
        @Setup(Level.Trial)
        public void open() {
            open = SubjectType.of(subject).open();
            RecordedEvents.record(events);
        }

        private Player join() {
            final Workload part = Workload.of(workload, threads.getAndIncrement());
            return new Player(part, Objects.requireNonNull(open).slots(part.slots()));
        }

        /** Closes the subject once every thread has freed its blocks: JMH ends shared states before all threads. */
        private void leave() {
            if (threads.decrementAndGet() == 0) {
                Objects.requireNonNull(open).close();
            }
        }
    }

    /** A thread's blocks and its place in its workload. */
    @State(Scope.Thread)
    public static class Place {
        private @Nullable Player player;

        /** Makes the blocks that are there before the first event. */
        @Setup(Level.Trial)
        public void fill(Shared shared) {
            player = shared.join();
            player.fill();
        }

        /** Frees what lives. */
        @TearDown(Level.Trial)
        public void drain(Shared shared) {
            Objects.requireNonNull(player).drain();
            shared.leave();
        }
    }

    /** One free and one allocation. */
    @Benchmark
    @BenchmarkMode(Mode.AverageTime)
    @OperationsPerInvocation(PAIRS)
    public void pair(Place place) {
        Objects.requireNonNull(place.player).play(2 * PAIRS);
    }

    /** A single free or allocation, for the percentiles; asking the clock is part of the time. */
    @Benchmark
    @BenchmarkMode(Mode.SampleTime)
    public void operation(Place place) {
        Objects.requireNonNull(place.player).play(1);
    }
}
