package allocator.conformance;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;

/** Several threads that begin together, on the way to find what only several threads find. */
final class Workers {
    /** What a worker does; its number tells it from the others. */
    @FunctionalInterface
    interface Work {
        void run(int worker) throws Throwable;
    }

    private final List<Thread> threads = new ArrayList<>();
    private final CountDownLatch begin = new CountDownLatch(1);
    private final AtomicReference<Throwable> firstFailure = new AtomicReference<>();

    private Workers() {}

    /** Runs {@code count} workers and waits for all; throws what the first failure threw. */
    static void run(Thread.Builder builder, int count, Work work) throws Throwable {
        final Workers workers = new Workers();
        for (int i = 0; i < count; i++) {
            workers.add(builder, i, work);
        }
        workers.await();
    }

    private void add(Thread.Builder builder, int number, Work work) {
        final Thread thread = builder.name("worker " + number).unstarted(() -> {
            try {
                begin.await();
                work.run(number);
            } catch (Throwable failure) {
                firstFailure.compareAndSet(null, failure);
            } finally {
                Guarded.unwatch(Thread.currentThread());
            }
        });
        Guarded.watch(thread);
        threads.add(thread);
        thread.start();
    }

    private void await() throws Throwable {
        begin.countDown();
        for (final Thread thread : threads) {
            thread.join();
        }
        final Throwable failure = firstFailure.get();
        if (failure != null) {
            throw failure;
        }
    }
}
