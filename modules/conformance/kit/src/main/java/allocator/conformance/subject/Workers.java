package allocator.conformance.subject;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;

/** Threads that start together, for faults that only concurrent calls reveal. */
public final class Workers {
    /** The work of one worker, identified by its number. */
    @FunctionalInterface
    public interface Work {
        void run(int worker) throws Throwable;
    }

    private final List<Thread> threads = new ArrayList<>();
    private final CountDownLatch start = new CountDownLatch(1);
    private final AtomicReference<Throwable> firstFailure = new AtomicReference<>();

    private Workers() {}

    /**
     * Runs workers and waits for all of them.
     *
     * @param count the number of workers, numbered from 0
     * @throws Throwable the first failure of any worker
     */
    public static void run(Thread.Builder builder, int count, Work work) throws Throwable {
        final Workers workers = new Workers();
        for (int i = 0; i < count; i++) {
            workers.add(builder, i, work);
        }
        workers.await();
    }

    private void add(Thread.Builder builder, int number, Work work) {
        final Thread thread = builder.name("worker " + number).unstarted(() -> {
            try {
                start.await();
                work.run(number);
            } catch (Throwable failure) {
                firstFailure.compareAndSet(null, failure);
            } finally {
                Watchdog.unwatch(Thread.currentThread());
            }
        });
        Watchdog.watch(thread);
        threads.add(thread);
        thread.start();
    }

    private void await() throws Throwable {
        start.countDown();
        for (final Thread thread : threads) {
            thread.join();
        }
        final Throwable failure = firstFailure.get();
        if (failure != null) {
            throw failure;
        }
    }
}
