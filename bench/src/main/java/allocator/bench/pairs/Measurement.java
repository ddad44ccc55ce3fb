package allocator.bench.pairs;

import allocator.bench.subject.Subject;
import allocator.bench.subject.SubjectType;
import com.sun.management.ThreadMXBean;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.DoubleConsumer;
import java.util.function.ToLongFunction;
import org.HdrHistogram.Histogram;

/**
 * What a JVM of its own measures: one subject under some workloads, with some numbers of threads that share it.
 *
 * <p>Every thread plays its workload without end. After a warm-up come the windows, each so many whole units of the
 * workload as fill its time, and then a time in which every single operation is timed.
 *
 * <p>Arguments: file for the results, subject, workloads and numbers of threads (lists with commas), the plan.
 */
public final class Measurement {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final long LONGEST_NANOS = TimeUnit.SECONDS.toNanos(100);
    private static final long LONGEST_WARM_UP_NANOS = TimeUnit.MILLISECONDS.toNanos(1500);
    private static final int WARM_UP_SLICE_MILLIS = 20;
    private static final int SIGNIFICANT_DIGITS = 3;

    private final Output output;
    private final SubjectType type;
    private final Plan plan;

    /** What a thread did in a window. */
    private record Share(long pairs, long wallNanos, long cpuNanos, long heapBytes) {
        double perPair(long value) {
            return (double) value / pairs;
        }
    }

    private Measurement(Output output, SubjectType type, Plan plan) {
        this.output = output;
        this.type = type;
        this.plan = plan;
    }

    /**
     * Measures.
     *
     * @param args as above
     * @throws Exception if the subject fails
     */
    public static void main(String[] args) throws Exception {
        final List<String> arguments = Arrays.asList(args);
        final Measurement measurement = new Measurement(
                Output.to(Path.of(args[0])),
                SubjectType.of(args[1]),
                Plan.parse(arguments.subList(4, arguments.size())));
        for (final String workload : args[2].split(",", -1)) {
            for (final String threads : args[3].split(",", -1)) {
                measurement.run(workload, Integer.parseInt(threads));
            }
        }
        System.exit(0); // Some subjects leave threads behind.
    }

    /**
     * Returns the subjects by which two commits can be compared: this project's own.
     *
     * @return their names
     */
    public static List<String> comparableSubjects() {
        return SubjectType.OWN.stream().map(SubjectType::toString).toList();
    }

    /**
     * Returns the workloads that there are.
     *
     * @return their names
     */
    public static List<String> workloads() {
        return Workload.names();
    }

    /**
     * Measures one cell in this JVM, for a comparison of two commits.
     *
     * @param subject the subject's name
     * @param workload the workload's name
     * @param threads how many threads share the subject
     * @param onReady is run once the subject is warmed up
     * @param wantsWindow is asked before each window; {@code false} ends the measurement
     * @param nanos receives for each window the nanoseconds for a free and an allocation: processor time if there is
     *     one thread, elapsed time if there are more
     * @throws IllegalArgumentException if there is no such subject or workload
     * @throws Exception if the subject fails
     */
    public static void measureWindows(
            String subject,
            String workload,
            int threads,
            Runnable onReady,
            BooleanSupplier wantsWindow,
            DoubleConsumer nanos)
            throws Exception {
        final Metric quoted = Report.quoted(threads);
        final Output output = (_, _, metric, value) -> {
            if (metric == quoted) {
                nanos.accept(value);
            }
        };
        new Measurement(output, SubjectType.of(subject), Plan.PAIRED).run(workload, threads, onReady, wantsWindow);
    }

    /** Measures one cell in this JVM, as {@link #main} does. */
    static void measure(Output output, SubjectType type, String workload, int threads, Plan plan) throws Exception {
        new Measurement(output, type, plan).run(workload, threads);
    }

    private void run(String workload, int threadCount) throws Exception {
        final AtomicInteger windows = new AtomicInteger(plan.windows());
        run(workload, threadCount, () -> {}, () -> windows.getAndDecrement() > 0);
    }

    private void run(String workload, int threadCount, Runnable onReady, BooleanSupplier wantsWindow) throws Exception {
        final List<ExecutorService> threads = new ArrayList<>();
        try (Subject subject = type.open()) {
            for (int i = 0; i < threadCount; i++) {
                threads.add(Executors.newSingleThreadExecutor(subject::thread));
            }
            final List<Player> players = new ArrayList<>();
            long peakLiveBytes = 0;
            for (int i = 0; i < threadCount; i++) {
                final Workload part = Workload.of(workload, i);
                peakLiveBytes += part.peakLiveBytes();
                players.add(threads.get(i)
                        .submit(() -> {
                            final Player player = new Player(part, subject.slots(part.slots()));
                            player.fill();
                            return player;
                        })
                        .get());
            }

            warmUp(threads, players);
            onReady.run();
            while (wantsWindow.getAsBoolean()) {
                write(workload, play(threads, players, plan.windowMillis()));
            }
            if (subject.bytesHeld().isPresent()) {
                final double held = subject.bytesHeld().getAsLong();
                output.add(workload, threadCount, Metric.HELD_OVER_LIVE, held / peakLiveBytes);
            }
            if (plan.latencyMillis() > 0) {
                timeOperations(workload, subject, threads, players);
            }
            for (int i = 0; i < threadCount; i++) {
                threads.get(i).submit(players.get(i)::drain).get();
            }
        } finally {
            threads.forEach(ExecutorService::shutdown);
        }
    }

    /**
     * Plays until the compiler has had nothing to do for a while, in the processor time of the busiest thread: a
     * machine that has other work to do gets as much playing as one that has not.
     */
    private void warmUp(List<ExecutorService> threads, List<Player> players)
            throws InterruptedException, ExecutionException {
        final CompilationMXBean compiler = ManagementFactory.getCompilationMXBean();
        long played = 0;
        long compiled = 0;
        long playedAtLastCompilation = 0;
        final int least = SubjectType.OWN.contains(type) ? plan.warmUpMillis() : plan.rivalWarmUpMillis();
        while (played < TimeUnit.MILLISECONDS.toNanos(least)
                || (played - playedAtLastCompilation < TimeUnit.MILLISECONDS.toNanos(plan.quietMillis())
                        && played < LONGEST_WARM_UP_NANOS)) {
            played += play(threads, players, WARM_UP_SLICE_MILLIS).stream()
                    .mapToLong(Share::cpuNanos)
                    .max()
                    .orElseThrow();
            final long compiledNow = compiler.getTotalCompilationTime();
            if (compiledNow != compiled) {
                compiled = compiledNow;
                playedAtLastCompilation = played;
            }
        }
    }

    /** Lets all threads do something at the same time, begun together. */
    private static <T> List<T> together(List<ExecutorService> threads, List<? extends Callable<T>> work)
            throws InterruptedException, ExecutionException {
        final AtomicInteger absent = new AtomicInteger(threads.size());
        final List<Future<T>> futures = new ArrayList<>();
        for (int i = 0; i < threads.size(); i++) {
            final Callable<T> part = work.get(i);
            futures.add(threads.get(i).submit(() -> {
                absent.decrementAndGet();
                while (absent.get() > 0) {
                    Thread.onSpinWait();
                }
                return part.call();
            }));
        }
        final List<T> results = new ArrayList<>();
        for (final Future<T> future : futures) {
            results.add(future.get());
        }
        return results;
    }

    private static List<Share> play(List<ExecutorService> threads, List<Player> players, int millis)
            throws InterruptedException, ExecutionException {
        return together(
                threads,
                players.stream()
                        .<Callable<Share>>map(player -> () -> play(player, millis))
                        .toList());
    }

    private static Share play(Player player, int millis) {
        final long heapBytes = THREADS.getCurrentThreadAllocatedBytes();
        final long cpu = THREADS.getCurrentThreadCpuTime();
        final long begin = System.nanoTime();
        final long end = begin + TimeUnit.MILLISECONDS.toNanos(millis);
        long events = 0;
        long now;
        do {
            events += player.playUnit();
            now = System.nanoTime();
        } while (now < end);
        final long cpuNanos = THREADS.getCurrentThreadCpuTime() - cpu;
        return new Share(events / 2, now - begin, cpuNanos, THREADS.getCurrentThreadAllocatedBytes() - heapBytes);
    }

    private void write(String workload, List<Share> shares) {
        final int threads = shares.size();
        output.add(
                workload,
                threads,
                Metric.WALL_NS,
                shares.stream()
                        .mapToDouble(share -> share.perPair(share.wallNanos))
                        .average()
                        .orElseThrow());
        output.add(workload, threads, Metric.CPU_NS, perPair(shares, Share::cpuNanos));
        output.add(workload, threads, Metric.HEAP_BYTES, perPair(shares, Share::heapBytes));
        output.add(
                workload,
                threads,
                Metric.MILLION_PAIRS_PER_S,
                shares.stream()
                        .mapToDouble(share -> 1000.0 * share.pairs / share.wallNanos)
                        .sum());
    }

    private static double perPair(List<Share> shares, ToLongFunction<Share> value) {
        return (double) shares.stream().mapToLong(value).sum()
                / shares.stream().mapToLong(Share::pairs).sum();
    }

    private void timeOperations(String workload, Subject subject, List<ExecutorService> threads, List<Player> players)
            throws InterruptedException, ExecutionException {
        final long before = subject.extensions().orElse(0);
        final List<Histogram> histograms = together(
                threads,
                players.stream()
                        .<Callable<Histogram>>map(player -> () -> timeOperations(player, plan.latencyMillis()))
                        .toList());
        final Histogram all = histograms.removeFirst();
        histograms.forEach(all::add);
        if (subject.extensions().isPresent()) {
            final long extensions = subject.extensions().getAsLong() - before;
            output.add(workload, players.size(), Metric.EXTENSIONS, (double) extensions);
        }
        output.add(workload, players.size(), all);
    }

    private static Histogram timeOperations(Player player, int millis) {
        final Histogram histogram = histogram();
        // The code that times has to be compiled as well.
        timeOperations(player, histogram, millis / 2);
        histogram.reset();
        timeOperations(player, histogram, millis);
        return histogram;
    }

    private static void timeOperations(Player player, Histogram histogram, int millis) {
        final long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        do {
            player.playUnitTimed(histogram);
        } while (System.nanoTime() < end);
    }

    /** A histogram of times of operations. */
    static Histogram histogram() {
        return new Histogram(LONGEST_NANOS, SIGNIFICANT_DIGITS);
    }
}
