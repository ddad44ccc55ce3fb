package allocator.bench.gpu;

import allocator.runtime.Environment;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.ProviderDevice;
import allocator.runtime.RunOptions;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.spi.AllocatorOptions;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

/**
 * Pairs of free and allocation from 1, 2, 4, 8 and 16 threads at once, each on a stream of its own, with 256 live
 * blocks each: by calling the provider directly, and through one session. All threads are timed over one common second.
 *
 * <p>Arguments: results file, provider.
 */
public final class ThreadsBenchmark {
    private static final int[] THREADS = {1, 2, 4, 8, 16};
    private static final long WARM_UP_NANOS = 1_000_000_000L;
    private static final long WINDOW_NANOS = 1_000_000_000L;
    private static final int BATCH = 256;

    private ThreadsBenchmark() {}

    /** Replaces a block, and says where the new one is. */
    private interface Pair {
        long replace(long address, long byteSize);
    }

    /** What a thread does: prepares, works with a pair of calls, and cleans up. */
    private interface Load {
        void run(Consumer<Pair> work);
    }

    public static void main(String[] args) throws InterruptedException {
        final Path file = Path.of(args[0]);
        directly(args[1], new Results(file, args[1] + " direct"));
        throughASession(args[1], new Results(file, args[1]));
    }

    private static void directly(String name, Results results) throws InterruptedException {
        try (Provider provider = Provider.open(name)) {
            for (int threads : THREADS) {
                final StreamAwareAllocator allocator = provider.allocator(AllocatorOptions.EMPTY);
                measure(threads, results, work -> {
                    final SyncStream stream = provider.stream();
                    work.accept((address, byteSize) -> {
                        allocator.free(address);
                        return allocator.allocOnStream(byteSize, stream);
                    });
                    stream.close();
                });
                provider.release(allocator);
            }
        }
    }

    private static void throughASession(String name, Results results) throws InterruptedException {
        try (Environment environment = Environment.builder().build()) {
            final ProviderDevice device = environment.devices().stream()
                    .filter(candidate -> candidate.provider().equals(name))
                    .findFirst()
                    .orElseThrow();
            for (int threads : THREADS) {
                try (Session session = environment.openSession(
                        SessionOptions.builder().device(device).build())) {
                    // Every thread is a run of its own, which ends with its work.
                    measure(
                            threads,
                            results,
                            work -> session.run(RunOptions.DEFAULT, run -> {
                                final ManagedAllocator allocator = run.allocator();
                                final SyncStream stream = run.stream(0);
                                work.accept((address, byteSize) -> {
                                    allocator.free(address);
                                    return allocator.allocOnStream(byteSize, stream);
                                });
                            }));
                }
            }
        }
    }

    private static void measure(int threads, Results results, Load load) throws InterruptedException {
        final Window window = new Window(threads);
        final Thread[] started = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            final Pairs pairs = new Pairs(i);
            final int index = i;
            started[i] = Thread.ofPlatform()
                    .start(() -> window.guard(() -> load.run(pair -> work(window, index, pairs, pair))));
        }
        finish(window, started, results);
    }

    private static void finish(Window window, Thread[] started, Results results) throws InterruptedException {
        window.run();
        for (Thread thread : started) {
            thread.join();
        }
        final Throwable failure = window.failure.get();
        if (failure != null) {
            throw new IllegalStateException("a thread failed", failure);
        }
        final double pairsPerSecond = window.pairsPerSecond();
        results.add("pairs", started.length, "million_pairs_per_s", pairsPerSecond / 1e6);
        results.add("pairs", started.length, "ns_per_pair", started.length * 1e9 / pairsPerSecond);
    }

    private static void work(Window window, int index, Pairs pairs, Pair pair) {
        final long[] live = new long[Pairs.LIVE];
        long inside = 0;
        int step = 0;
        window.begin();
        for (int phase = window.phase; phase != Window.OVER; phase = window.phase) {
            for (int i = 0; i < BATCH; i++) {
                final int slot = pairs.slots[step];
                live[slot] = pair.replace(live[slot], pairs.sizes[step]);
                step = (step + 1) & (Pairs.STEPS - 1);
            }
            // A batch counts if it lies in the window as a whole.
            if (phase == Window.MEASURING && window.phase == Window.MEASURING) {
                inside += BATCH;
            }
        }
        window.pairs[index] = inside;
        for (int slot = 0; slot < live.length; slot++) {
            pair.replace(live[slot], 0);
        }
    }

    /** The time in which all threads are counted. */
    private static final class Window {
        static final int WARM_UP = 0;
        static final int MEASURING = 1;
        static final int OVER = 2;

        final long[] pairs;
        final AtomicReference<Throwable> failure = new AtomicReference<>();
        private final CountDownLatch ready;
        private long nanos;
        volatile int phase = WARM_UP;

        Window(int threads) {
            pairs = new long[threads];
            ready = new CountDownLatch(threads);
        }

        void begin() {
            ready.countDown();
            try {
                ready.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        /** Ends the measurement if a thread fails, rather than wait for it. */
        void guard(Runnable work) {
            try {
                work.run();
            } catch (RuntimeException | Error e) {
                failure.compareAndSet(null, e);
                ready.countDown();
                phase = OVER;
            }
        }

        void run() throws InterruptedException {
            ready.await();
            Thread.sleep(WARM_UP_NANOS / 1_000_000);
            final long start = System.nanoTime();
            phase = MEASURING;
            Thread.sleep(WINDOW_NANOS / 1_000_000);
            phase = OVER;
            nanos = System.nanoTime() - start;
        }

        double pairsPerSecond() {
            long all = 0;
            for (long count : pairs) {
                all += count;
            }
            return all * 1e9 / nanos;
        }
    }
}
