package allocator.bench.compare;

import allocator.bench.pairs.Player;
import allocator.bench.pairs.Workload;
import allocator.bench.subject.Subject;
import allocator.bench.subject.SubjectType;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.DoubleConsumer;

/**
 * A subject under a workload, played by threads that share it. After a warm-up it is played in windows, each of so many
 * whole units of the workload as fill its time. JMH cannot play like that: it decides itself when an iteration begins.
 */
final class PlayedWindows {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final int WINDOW_MILLIS = 15;
    private static final int WARM_UP_SLICE_MILLIS = 20;
    private static final long LEAST_WARM_UP_NANOS = TimeUnit.MILLISECONDS.toNanos(200);
    private static final long LONGEST_WARM_UP_NANOS = TimeUnit.MILLISECONDS.toNanos(1500);

    /** How long the compiler must have had nothing to do before the first window. */
    private static final long QUIET_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

    private final List<ExecutorService> threads = new ArrayList<>();
    private final List<Player> players = new ArrayList<>();

    /** What a thread did in a window. */
    private record Share(long pairs, long wallNanos, long cpuNanos) {}

    private PlayedWindows() {}

    /**
     * Plays.
     *
     * @param workload the workload's name
     * @param threadCount how many threads share the subject
     * @param onReady is run once the subject is warmed up
     * @param wantsWindow is asked before each window; {@code false} ends
     * @param nanos receives for each window the nanoseconds for a free and an allocation: processor time if there is
     *     one thread, elapsed time if there are more
     * @throws IllegalArgumentException if there is no such workload
     * @throws ExecutionException if the subject fails
     */
    static void play(
            SubjectType type,
            String workload,
            int threadCount,
            Runnable onReady,
            BooleanSupplier wantsWindow,
            DoubleConsumer nanos)
            throws InterruptedException, ExecutionException {
        final PlayedWindows windows = new PlayedWindows();
        try (Subject subject = type.open()) {
            for (int i = 0; i < threadCount; i++) {
                windows.add(subject, Workload.of(workload, i));
            }
            windows.warmUp();
            onReady.run();
            while (wantsWindow.getAsBoolean()) {
                nanos.accept(nanosPerPair(windows.play(WINDOW_MILLIS)));
            }
            for (int i = 0; i < threadCount; i++) {
                windows.threads.get(i).submit(windows.players.get(i)::drain).get();
            }
        } finally {
            windows.threads.forEach(ExecutorService::shutdown);
        }
    }

    private void add(Subject subject, Workload part) throws InterruptedException, ExecutionException {
        final ExecutorService thread = Executors.newSingleThreadExecutor(subject::thread);
        threads.add(thread);
        players.add(thread.submit(() -> {
                    final Player player = new Player(part, subject.slots(part.slots()));
                    player.fill();
                    return player;
                })
                .get());
    }

    /**
     * Plays until the compiler has had nothing to do for a while, in the processor time of the busiest thread: a
     * machine that has other work to do gets as much playing as one that has not.
     */
    private void warmUp() throws InterruptedException, ExecutionException {
        final CompilationMXBean compiler = ManagementFactory.getCompilationMXBean();
        long played = 0;
        long compiled = 0;
        long playedAtLastCompilation = 0;
        while (played < LEAST_WARM_UP_NANOS
                || (played - playedAtLastCompilation < QUIET_NANOS && played < LONGEST_WARM_UP_NANOS)) {
            played += play(WARM_UP_SLICE_MILLIS).stream()
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

    /** Lets all threads play at the same time, begun together. */
    private List<Share> play(int millis) throws InterruptedException, ExecutionException {
        final AtomicInteger absent = new AtomicInteger(threads.size());
        final List<Future<Share>> futures = new ArrayList<>();
        for (int i = 0; i < threads.size(); i++) {
            final Player player = players.get(i);
            futures.add(threads.get(i).submit(() -> {
                absent.decrementAndGet();
                while (absent.get() > 0) {
                    Thread.onSpinWait();
                }
                return play(player, millis);
            }));
        }
        final List<Share> shares = new ArrayList<>();
        for (final Future<Share> future : futures) {
            shares.add(future.get());
        }
        return shares;
    }

    private static Share play(Player player, int millis) {
        final long cpu = THREADS.getCurrentThreadCpuTime();
        final long begin = System.nanoTime();
        final long end = begin + TimeUnit.MILLISECONDS.toNanos(millis);
        long events = 0;
        long now;
        do {
            events += player.playUnit();
            now = System.nanoTime();
        } while (now < end);
        return new Share(events / 2, now - begin, THREADS.getCurrentThreadCpuTime() - cpu);
    }

    private static double nanosPerPair(List<Share> shares) {
        return shares.stream()
                .mapToDouble(share -> (double) (shares.size() == 1 ? share.cpuNanos : share.wallNanos) / share.pairs)
                .average()
                .orElseThrow();
    }
}
