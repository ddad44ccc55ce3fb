package allocator.onnxruntime.block;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import allocator.spi.AllocatorStats;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class SessionBudgetTest {
    @Test
    void grantsToTheLastByteAndNotOneMore() {
        final SessionBudget budget = new SessionBudget(null, 100);

        assertNull(budget.take(100));
        assertEquals(0, budget.peak());
        budget.commit();
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
        second.commit();
        assertEquals(100, all.used());
        assertEquals(100, all.peak());
        assertEquals(0, second.peak() - 50);
    }

    @Test
    @Timeout(60)
    void aRequestBeyondTheLargerBudgetDoesNotMakeAnotherFail() throws InterruptedException {
        final SessionBudget all = new SessionBudget(null, 60);
        final SessionBudget budget = new SessionBudget(all, 100);
        final AtomicBoolean isDone = new AtomicBoolean();
        final AtomicBoolean isTaken = new AtomicBoolean();
        final Thread greedy = Thread.ofPlatform().start(() -> {
            while (!isDone.get()) {
                if (budget.take(70) == null) {
                    isTaken.set(true);
                }
            }
        });
        int rejected = 0;
        for (int i = 0; i < 500_000; i++) {
            if (budget.take(50) == null) {
                budget.release(50);
            } else {
                rejected++;
            }
        }
        isDone.set(true);
        greedy.join();
        assertFalse(isTaken.get());
        assertEquals(0, rejected);
        assertEquals(0, budget.used());
    }

    @Test
    void aBudgetHasTwoLevelsAtMost() {
        final SessionBudget part = new SessionBudget(new SessionBudget(null, 100), 50);
        assertThrows(IllegalArgumentException.class, () -> new SessionBudget(part, 10));
    }

    @Test
    void belowWhatIsInUseRequestsFailUntilEnoughIsFreed() {
        final SessionBudget budget = new SessionBudget(null, 100);
        assertNull(budget.take(60));
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
                        budget.commit();
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

    /** No sum is made: what is used is subtracted from the limit. */
    @Test
    void everyRequestIsGrantedUpToTheLimitsOfBothLevels() {
        final long[] boundaries = LongStream.of(0, 1, 8, 12, 31, 32, 61, 62, 63)
                .flatMap(bit -> LongStream.rangeClosed(-2, 1).map(by -> (1L << bit) + by))
                .filter(number -> number >= 0)
                .distinct()
                .toArray();
        for (final long limit : boundaries) {
            for (final long largerLimit : boundaries) {
                for (final long used : boundaries) {
                    final SessionBudget all = new SessionBudget(null, largerLimit);
                    final SessionBudget budget = new SessionBudget(all, limit);
                    final boolean isUsed = budget.take(used) == null;
                    assertEquals(used <= limit && used <= largerLimit, isUsed);
                    final long before = isUsed ? used : 0;
                    for (final long bytes : boundaries) {
                        final SessionBudget expected =
                                bytes > limit - before ? budget : bytes > largerLimit - before ? all : null;
                        assertSame(expected, budget.take(bytes));
                        budget.release(expected == null ? bytes : 0);
                    }
                    assertEquals(before, budget.used());
                    assertEquals(before, all.used());
                }
            }
        }
    }
}
