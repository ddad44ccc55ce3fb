package allocator.provider.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.spi.AllocatorClosedException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

class UseGuardTest {
    private final UseGuard guard = new UseGuard();

    @Test
    void nobodyEntersAfterTheClose() {
        assertThat(guard.tryEnter()).isTrue();
        guard.exit();
        assertThat(guard.close()).isTrue();
        assertThat(guard.tryEnter()).isFalse();
        assertThat(guard.isClosed()).isTrue();
        assertThat(guard.close()).isFalse();
    }

    @Test
    void anExceptionNamesWhatIsClosed() {
        guard.enter("the pool");
        guard.exit();
        guard.close();
        assertThatExceptionOfType(AllocatorClosedException.class)
                .isThrownBy(() -> guard.enter("the pool"))
                .withMessage("the pool is closed");
        assertThat(guard.close()).isFalse(); // waits for nobody: the rejected call is not inside
    }

    @Test
    void closeWaitsForThoseInside() throws InterruptedException {
        final CountDownLatch inside = new CountDownLatch(1);
        final CountDownLatch mayLeave = new CountDownLatch(1);
        final AtomicBoolean hasLeft = new AtomicBoolean();
        final Thread user = Thread.ofPlatform().start(() -> {
            assertThat(guard.tryEnter()).isTrue();
            inside.countDown();
            try {
                mayLeave.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            hasLeft.set(true);
            guard.exit();
        });
        inside.await();
        final Thread closer = Thread.ofPlatform().start(guard::close);
        while (!guard.isClosed()) {
            Thread.onSpinWait();
        }
        assertThat(guard.tryEnter()).isFalse();
        mayLeave.countDown();
        closer.join();
        assertThat(hasLeft).isTrue();
        user.join();
    }

    @Test
    void anInterruptStaysPendingAndDoesNotMakeTheWaitSpin() throws InterruptedException {
        assertThat(guard.tryEnter()).isTrue();
        final AtomicBoolean isInterrupted = new AtomicBoolean();
        final Thread closer = Thread.ofPlatform().start(() -> {
            Thread.currentThread().interrupt();
            guard.close();
            isInterrupted.set(Thread.currentThread().isInterrupted());
        });
        while (!guard.isClosed()) {
            Thread.onSpinWait();
        }
        // Pending, it would end every park at once.
        for (int i = 0; i < 5000 && closer.isInterrupted(); i++) {
            Thread.sleep(1);
        }
        assertThat(closer.isInterrupted()).isFalse();
        guard.exit();
        closer.join();
        assertThat(isInterrupted).isTrue();
    }

    @Test
    void closeIfUnusedClosesOnlyWhileNoCallIsInside() {
        final UseGuard used = new UseGuard();
        assertThat(used.tryEnter()).isTrue();
        assertThat(used.closeIfUnused()).isFalse();
        used.exit();
        assertThat(used.closeIfUnused()).isTrue();
        assertThat(used.closeIfUnused()).isTrue();
        assertThat(used.tryEnter()).isFalse();
    }
}
