package allocator.provider.support.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class BriefLockTest {
    private static final int THREADS = 8;
    private static final int ROUNDS = 50_000;

    private final BriefLock lock = new BriefLock();

    /** Written without order: only the lock makes the sum come out. */
    private long counter;

    @Test
    void platformThreadsTakeTurns() throws Exception {
        try (ExecutorService executor = Executors.newFixedThreadPool(THREADS)) {
            takeTurns(executor);
        }
    }

    @Test
    void virtualThreadsTakeTurns() throws Exception {
        try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
            takeTurns(executor);
        }
    }

    private void takeTurns(ExecutorService executor) throws Exception {
        final List<Future<?>> futures = new ArrayList<>();
        for (int thread = 0; thread < THREADS; thread++) {
            futures.add(executor.submit(() -> {
                for (int round = 0; round < ROUNDS; round++) {
                    lock.lock();
                    try {
                        counter++;
                        if (round % 1000 == 0) {
                            LockSupport.parkNanos(1);
                        }
                    } finally {
                        lock.unlock();
                    }
                }
            }));
        }
        for (final Future<?> future : futures) {
            future.get();
        }
        assertThat(counter).isEqualTo((long) THREADS * ROUNDS);
    }

    /** Both sides park in turn. A waiter that slept indefinitely would fail the test by its time limit. */
    @Test
    void aParkedThreadAcquiresTheLock() throws Exception {
        try (ExecutorService executor = Executors.newFixedThreadPool(2)) {
            final List<Future<?>> futures = new ArrayList<>();
            for (int thread = 0; thread < 2; thread++) {
                futures.add(executor.submit(() -> {
                    for (int round = 0; round < 300; round++) {
                        lock.lock();
                        try {
                            TimeUnit.MICROSECONDS.sleep(200);
                        } finally {
                            lock.unlock();
                        }
                    }
                    return null;
                }));
            }
            for (final Future<?> future : futures) {
                future.get();
            }
        }
    }

    @Test
    void aWaiterIsOutUntilTheRelease() throws Exception {
        final AtomicBoolean isIn = new AtomicBoolean();
        lock.lock();
        final Thread waiter = Thread.ofPlatform().start(() -> {
            lock.lock();
            isIn.set(true);
            lock.unlock();
        });
        awaitParked(waiter);
        assertThat(isIn).isFalse();
        lock.unlock();
        waiter.join();
        assertThat(isIn).isTrue();
    }

    /** Where its stack has ended, it may have left the lock behind. */
    @Test
    void aThreadTakesOverTheLockThatItOwns() {
        lock.lock();
        assertThat(lock.lock()).isFalse();
        lock.unlock();
        assertThat(lock.lock()).isFalse();
        lock.unlock();
    }

    @Test
    void anInterruptNeitherEndsTheWaitNorGetsLost() throws Exception {
        final AtomicBoolean wasInterrupted = new AtomicBoolean();
        final CountDownLatch isIn = new CountDownLatch(1);
        lock.lock();
        final Thread waiter = Thread.ofPlatform().start(() -> {
            lock.lock();
            wasInterrupted.set(Thread.currentThread().isInterrupted());
            isIn.countDown();
            lock.unlock();
        });
        awaitParked(waiter);
        waiter.interrupt();
        assertThat(isIn.await(20, TimeUnit.MILLISECONDS)).isFalse();
        lock.unlock();
        waiter.join();
        assertThat(wasInterrupted).isTrue();
    }

    private static void awaitParked(Thread thread) {
        while (thread.getState() != Thread.State.TIMED_WAITING) {
            Thread.onSpinWait();
        }
    }
}
