package allocator.runtime.lifetime;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.testkit.FakeDevice;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
class LeaseTest {
    private static Lease newLease() {
        final AllocatorInstances instances = new AllocatorInstances();
        return new Lease(
                new AllocatorReference(instances, "fake", List.of(), FakeDevice::new, returned -> {}), () -> {});
    }

    /** Read while others move a block from one thread's stripe to another's, a single counter could read zero. */
    @Test
    void aLiveBlockIsNeverOverlooked() throws Exception {
        final Lease blocks = newLease();
        final AtomicBoolean done = new AtomicBoolean();
        final AtomicLong overlooked = new AtomicLong();
        final CountDownLatch churning = new CountDownLatch(3);
        assertThat(blocks.enter()).isTrue();
        try (ExecutorService threads = Executors.newFixedThreadPool(3)) {
            for (int i = 0; i < 3; i++) {
                threads.execute(() -> {
                    churning.countDown();
                    while (!done.get()) {
                        assertThat(blocks.enter()).isTrue();
                        blocks.leave();
                    }
                });
            }
            churning.await();
            final long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(200);
            while (System.nanoTime() < end) {
                if (blocks.count() == 0) {
                    overlooked.incrementAndGet();
                }
            }
            done.set(true);
        }
        assertThat(overlooked).hasValue(0);
        assertThat(blocks.count()).isOne();
    }

    /** A call of another environment, which makes room for a request, must not keep a lease from its close. */
    @Test
    void aCloseThatWaitsForACallLetsNoOtherOneBegin() throws Exception {
        final Lease lease = newLease();
        assertThat(lease.tryCall()).isTrue();
        final Thread closer = Thread.ofPlatform().start(lease::close);
        while (!lease.isDraining()) {
            Thread.onSpinWait();
        }
        assertThat(lease.tryCall()).isFalse();
        assertThat(lease.isFinished()).isFalse();
        lease.endCall();
        closer.join();
        assertThat(lease.isFinished()).isTrue();
    }

    @Test
    void whereABlockIsLiveACallMayBeginAfterTheClose() {
        final Lease lease = newLease();
        assertThat(lease.enter()).isTrue();
        lease.close();
        assertThat(lease.tryCall()).isTrue();
        lease.leave();
        assertThat(lease.isFinished()).isFalse();
        lease.endCall();
        assertThat(lease.isFinished()).isTrue();
    }
}
