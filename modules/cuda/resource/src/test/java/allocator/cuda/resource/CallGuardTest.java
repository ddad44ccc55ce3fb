package allocator.cuda.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.spi.AllocatorClosedException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

class CallGuardTest {
    private final CallGuard guard = new CallGuard();

    @Test
    void noCallEntersAfterTheClose() {
        guard.enter("pool");
        guard.exit();
        guard.close();
        guard.close();
        assertThatExceptionOfType(AllocatorClosedException.class)
                .isThrownBy(() -> guard.enter("pool"))
                .withMessage("pool is closed");
        guard.close();
    }

    @Test
    void aCloseWaitsForTheCallsInside() throws InterruptedException {
        guard.enter("pool");
        final CountDownLatch begun = new CountDownLatch(1);
        final AtomicBoolean hasLeft = new AtomicBoolean();
        final AtomicBoolean wasAlone = new AtomicBoolean();
        final Thread closer = Thread.ofPlatform().start(() -> {
            begun.countDown();
            guard.close();
            wasAlone.set(hasLeft.get());
        });
        begun.await();
        awaitClose();
        hasLeft.set(true);
        guard.exit();
        closer.join();
        assertThat(wasAlone).isTrue();
    }

    private void awaitClose() {
        boolean isClosed = false;
        while (!isClosed) {
            try {
                guard.enter("pool");
                guard.exit();
                Thread.onSpinWait();
            } catch (AllocatorClosedException e) {
                isClosed = true;
            }
        }
    }
}
