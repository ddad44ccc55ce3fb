package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import allocator.spi.AllocatorStats;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

class SessionBudgetTest {
    @Test
    void grantsToTheLastByteAndNotOneMore() {
        final SessionBudget budget = new SessionBudget(null, 100);

        assertNull(budget.take(100));
        assertEquals(0, budget.peak());
        assertEquals(0, budget.used());
        budget.commit(100);
        assertSame(budget, budget.take(1));
        budget.release(100);
        assertSame(budget, budget.take(101));
        assertSame(budget, budget.take(Long.MAX_VALUE));
        assertEquals(0, budget.used());
        assertEquals(100, budget.peak());
    }

    @Test
    void aRequestBeyondTheLargerBudgetTakesNothing() {
        final SessionBudget all = new SessionBudget(null, 100);
        final SessionBudget first = new SessionBudget(all, AllocatorStats.UNLIMITED);
        final SessionBudget second = new SessionBudget(all, 80);

        assertNull(first.take(50));
        assertSame(all, second.take(51));
        assertEquals(0, second.used());
        assertNull(second.take(50));
        first.commit(50);
        second.commit(50);
        assertEquals(100, all.used());
        assertEquals(100, all.peak());
        assertEquals(0, second.peak() - 50);
    }

    @Test
    void belowWhatIsInUseRequestsFailUntilEnoughIsFreed() {
        final SessionBudget budget = new SessionBudget(null, 100);
        assertNull(budget.take(60));
        budget.commit(60);
        budget.setLimit(50);

        assertSame(budget, budget.take(1));
        budget.release(20);
        assertNull(budget.take(10));
        assertEquals(50, budget.limit());
        budget.setLimit(AllocatorStats.UNLIMITED);
        assertEquals(AllocatorStats.UNLIMITED, budget.limit());
        assertThrows(IllegalArgumentException.class, () -> budget.setLimit(-2));
    }

    @Test
    void concurrentThreadsNeverExceedTheLimit() throws InterruptedException {
        final SessionBudget budget = new SessionBudget(null, 1000);
        final List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < 4; t++) {
            final int step = 7 + t;
            threads.add(Thread.ofPlatform().start(() -> {
                for (int i = 0; i < 100_000; i++) {
                    if (budget.take(step * 37L) == null) {
                        budget.commit(step * 37L);
                        budget.release(step * 37L);
                    }
                }
            }));
        }
        for (final Thread thread : threads) {
            thread.join();
        }
        assertEquals(0, budget.used());
        assertTrue(budget.peak() <= 1000, () -> "peak " + budget.peak());
    }

    @Test
    void aRequestUnderWayIsNotInUseAndLeavesNoPeakIfItFails() {
        final SessionBudget all = new SessionBudget(null, 100);
        final SessionBudget session = new SessionBudget(all, AllocatorStats.UNLIMITED);

        assertNull(session.take(60));
        assertNull(session.take(40));
        session.commit(40);
        assertSame(all, session.take(1));
        session.cancel(60);
        for (final SessionBudget budget : List.of(session, all)) {
            assertEquals(40, budget.used());
            assertEquals(40, budget.peak());
        }
        assertNull(session.take(60));
    }

    /** Requests of 60 are rejected, by the larger budget or by the session; those of 50 fit. */
    @Test
    void aRequestThatFitsIsGrantedBesideOnesThatAreRejected() throws InterruptedException {
        final SessionBudget all = new SessionBudget(null, 50);
        final SessionBudget session = new SessionBudget(all, 100);
        final SessionBudget unlimited = new SessionBudget(all, AllocatorStats.UNLIMITED);
        final SessionBudget small = new SessionBudget(all, 10);
        final AtomicBoolean isOver = new AtomicBoolean();
        final Thread rejected = Thread.ofPlatform().start(() -> {
            while (!isOver.get()) {
                session.take(60);
                unlimited.take(60);
                small.take(40);
            }
        });
        int failures = 0;
        final long start = System.nanoTime();
        while (System.nanoTime() - start < 1_000_000_000) {
            for (final SessionBudget budget : List.of(session, unlimited)) {
                if (budget.take(50) != null) {
                    failures++;
                    continue;
                }
                budget.commit(50);
                if (budget.used() != 50) {
                    failures++;
                }
                budget.release(50);
            }
        }
        isOver.set(true);
        rejected.join();
        assertEquals(0, failures);
        assertEquals(50, unlimited.peak());
    }
}
