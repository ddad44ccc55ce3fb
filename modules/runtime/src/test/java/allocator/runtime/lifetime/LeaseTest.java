package allocator.runtime.lifetime;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
class LiveBlocksTest {
    /** Read while others move a block from one thread's stripe to another's, a single counter could read zero. */
    @Test
    void aLiveBlockIsNeverOverlooked() throws Exception {
        final LiveBlocks blocks = new LiveBlocks();
        final AtomicBoolean done = new AtomicBoolean();
        final AtomicLong overlooked = new AtomicLong();
        final CountDownLatch churning = new CountDownLatch(3);
        blocks.begin();
        try (ExecutorService threads = Executors.newFixedThreadPool(3)) {
            for (int i = 0; i < 3; i++) {
                threads.execute(() -> {
                    churning.countDown();
                    while (!done.get()) {
                        blocks.begin();
                        blocks.end();
                    }
                });
            }
            churning.await();
            final long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(200);
            while (System.nanoTime() < end) {
                if (blocks.isNone()) {
                    overlooked.incrementAndGet();
                }
            }
            done.set(true);
        }
        assertThat(overlooked).hasValue(0);
        assertThat(blocks.count()).isOne();
    }

    /** The same without luck: a block begins and ends between the two reads. */
    @Test
    void aBlockThatBeginsAndEndsBetweenTheReadsHidesNoOther() {
        final LiveBlocks blocks = new LiveBlocks() {
            @Override
            long begun() {
                final long read = super.begun();
                begin();
                end();
                return read;
            }

            @Override
            long ended() {
                final long read = super.ended();
                begin();
                end();
                return read;
            }
        };
        blocks.begin();
        assertThat(blocks.isNone()).isFalse();
    }
}
