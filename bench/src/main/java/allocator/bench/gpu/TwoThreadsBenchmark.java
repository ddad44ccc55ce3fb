package allocator.bench.gpu;

import allocator.spi.AllocatorStats;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import allocator.trace.Trace;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.stream.LongStream;

/**
 * Two threads that replay a trace again and again on one allocator, each on a stream of its own. What the allocator
 * holds is compared with what both threads have requested at the same time; times are those of further replays, in
 * which nothing is counted.
 *
 * <p>Arguments: results file, provider, trace, and the policy of the arena if it is not the default.
 */
public final class TwoThreadsBenchmark {
    private static final int THREADS = 2;
    private static final int COUNTED_PASSES = 30;
    private static final int PASSES = 100;
    private static final long NANOS = 2_000_000_000L;

    private final Trace trace;
    private final Provider provider;
    private final StreamAwareAllocator allocator;
    private final ExecutorService threads;

    private TwoThreadsBenchmark(
            Trace trace, Provider provider, StreamAwareAllocator allocator, ExecutorService threads) {
        this.trace = trace;
        this.provider = provider;
        this.allocator = allocator;
        this.threads = threads;
    }

    /** What a thread does once both are ready. */
    private interface Work {
        long[] run(DirectReplay replay);
    }

    public static void main(String[] args) throws Exception {
        final Policy policy = Policy.of(args[1], args, 3);
        final Trace trace = ReplayBenchmark.load(args[2]);
        final Results results = new Results(Path.of(args[0]), policy.subject() + " direct");
        try (Provider provider = Provider.open(policy.provider());
                ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
            final StreamAwareAllocator allocator = provider.allocator(policy.options());
            new TwoThreadsBenchmark(trace, provider, allocator, threads).run(results, ReplayBenchmark.workload(trace));
            provider.release(allocator);
        }
    }

    private void run(Results results, String workload) throws InterruptedException {
        final AtomicLong live = new AtomicLong();
        final LongAccumulator peak = new LongAccumulator(Math::max, 0);
        together(replay -> {
            for (int pass = 0; pass < COUNTED_PASSES; pass++) {
                replay.pass(allocator, live, peak);
            }
            return new long[0];
        });
        results.add(workload, THREADS, "peak_requested_bytes", (double) peak.get());
        results.add(
                workload, THREADS, "peak_held_bytes", (double) allocator.stats().peakBytesHeld());
        final AllocatorStats before = allocator.stats();
        final long[] nanos = together(this::timed);
        Arrays.sort(nanos);
        results.add(workload, THREADS, "ns_per_event_warm", nanos[nanos.length / 2] / (double) trace.eventCount());
        Pages.add(
                results,
                workload,
                THREADS,
                before,
                allocator.stats(),
                nanos.length,
                (long) nanos.length * trace.eventCount());
    }

    private long[] timed(DirectReplay replay) {
        final long[] nanos = new long[PASSES];
        final long begin = System.nanoTime();
        int count = 0;
        while (count < PASSES && System.nanoTime() - begin < NANOS) {
            nanos[count++] = replay.pass(allocator);
        }
        return Arrays.copyOf(nanos, count);
    }

    /** Lets all threads do the same at the same time, and returns what they measured. */
    private long[] together(Work work) throws InterruptedException {
        final CyclicBarrier ready = new CyclicBarrier(THREADS);
        final List<Callable<long[]>> tasks = new ArrayList<>();
        for (int thread = 0; thread < THREADS; thread++) {
            tasks.add(() -> {
                final SyncStream stream = provider.stream();
                final SyncStream[] streams = new SyncStream[trace.streamCount()];
                Arrays.fill(streams, stream);
                final DirectReplay replay = new DirectReplay(trace, streams);
                ready.await();
                final long[] measured = work.run(replay);
                stream.close();
                return measured;
            });
        }
        final List<Future<long[]>> done = threads.invokeAll(tasks);
        LongStream all = LongStream.empty();
        for (Future<long[]> one : done) {
            try {
                all = LongStream.concat(all, Arrays.stream(one.get()));
            } catch (ExecutionException e) {
                throw new IllegalStateException("a thread failed", e.getCause());
            }
        }
        return all.toArray();
    }
}
