package allocator.cuda.memory;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class LifecycleTest {
    private final Lifecycle lifecycle = new Lifecycle();

    @Test
    void aCloseWaitsForCallsAndKeepsOthersOutUntilItIsDecided() throws InterruptedException {
        assertThat(lifecycle.tryEnter()).isTrue();
        final AtomicBoolean isAlone = new AtomicBoolean();
        final Thread closer = Thread.ofVirtual().start(() -> {
            lifecycle.beginClose();
            isAlone.set(true);
            lifecycle.endClose(false);
        });
        assertThat(isAlone).isFalse();
        lifecycle.exit();
        closer.join();
        assertThat(isAlone).isTrue();
        assertThat(lifecycle.tryEnter()).isTrue();
        lifecycle.exit();
    }

    @Test
    void noCallEntersAfterTheClose() {
        lifecycle.beginClose();
        lifecycle.endClose(true);
        assertThat(lifecycle.tryEnter()).isFalse();
        lifecycle.beginClose();
        lifecycle.endClose(false);
        assertThat(lifecycle.tryEnter()).isFalse();
    }

    @Test
    void anInterruptStaysPending() throws InterruptedException {
        lifecycle.beginClose();
        final AtomicBoolean wasInterrupted = new AtomicBoolean();
        final Thread caller = Thread.ofPlatform().start(() -> {
            assertThat(lifecycle.tryEnter()).isTrue();
            wasInterrupted.set(Thread.interrupted());
            lifecycle.exit();
        });
        while (caller.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
        caller.interrupt();
        lifecycle.endClose(false);
        caller.join();
        assertThat(wasInterrupted).isTrue();
    }
}
