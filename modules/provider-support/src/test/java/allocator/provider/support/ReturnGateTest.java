package allocator.provider.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ReturnGateTest {
    private final ReturnGate gate = new ReturnGate();

    /** Starts a thread and returns when it waits. */
    private static Thread waiting(Runnable work) throws InterruptedException {
        final Thread thread = Thread.ofPlatform().daemon().start(work);
        while (thread.getState() != Thread.State.TIMED_WAITING) {
            assertThat(thread.isAlive()).isTrue();
            Thread.onSpinWait();
        }
        return thread;
    }

    @Test
    void allocationsPassSideBySide() {
        gate.enterAllocation();
        gate.enterAllocation();
        gate.exitAllocation();
        gate.exitAllocation();
    }

    @Test
    void aReturnWaitsForTheAllocationsUnderWay() throws InterruptedException {
        gate.enterAllocation();
        final Thread returning = waiting(() -> {
            gate.enterReturn();
            gate.exitReturn();
        });
        gate.exitAllocation();
        returning.join();
        gate.enterAllocation();
    }

    @Test
    void aReturnThatTriesGivesUpAndLeavesTheGateAsItWas() {
        gate.enterAllocation();
        assertThat(gate.tryEnterReturn()).isFalse();
        gate.enterAllocation();
        gate.exitAllocation();
        gate.exitAllocation();
        assertThat(gate.tryEnterReturn()).isTrue();
        gate.exitReturn();
        gate.enterAllocation();
    }

    @Test
    void aReturnThatTriesGivesUpDuringAnotherReturn() throws InterruptedException {
        gate.enterReturn();
        final AtomicBoolean hasEntered = new AtomicBoolean(true);
        final Thread returning = Thread.ofPlatform().start(() -> hasEntered.set(gate.tryEnterReturn()));
        returning.join();
        assertThat(hasEntered).isFalse();
        gate.exitReturn();
        assertThat(gate.tryEnterReturn()).isTrue();
    }

    @Test
    void allocationsAndReturnsWaitDuringAReturn() throws InterruptedException {
        gate.enterReturn();
        final Thread allocating = waiting(() -> {
            gate.enterAllocation();
            gate.exitAllocation();
        });
        final Thread returning = waiting(() -> {
            gate.enterReturn();
            gate.exitReturn();
        });
        gate.exitReturn();
        allocating.join();
        returning.join();
    }

    @Test
    void anInterruptDoesNotEndAWaitAndStaysPending() throws InterruptedException {
        gate.enterReturn();
        final AtomicBoolean isPending = new AtomicBoolean();
        final Thread allocating = waiting(() -> {
            gate.enterAllocation();
            isPending.set(Thread.currentThread().isInterrupted());
        });
        allocating.interrupt();
        allocating.join(20);
        assertThat(allocating.isAlive()).isTrue();
        gate.exitReturn();
        allocating.join();
        assertThat(isPending).isTrue();
    }

    @Test
    void aWaitThatFailsLeavesTheGateAsItWas() {
        final ReturnGate failing = new ReturnGate(() -> {
            throw new OutOfMemoryError("no heap to wait");
        });
        failing.enterAllocation();
        assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(failing::enterReturn);
        failing.enterAllocation();
        failing.exitAllocation();
        failing.exitAllocation();
        failing.enterReturn();
        assertThatExceptionOfType(OutOfMemoryError.class)
                .isThrownBy(() -> throwsInAnotherThread(failing::enterAllocation));
        failing.exitReturn();
        failing.enterAllocation();
    }

    private static void throwsInAnotherThread(Runnable call) throws Throwable {
        final AtomicReference<Throwable> thrown = new AtomicReference<>();
        final Thread thread = Thread.ofPlatform().start(() -> {
            try {
                call.run();
            } catch (Throwable e) {
                thrown.set(e);
            }
        });
        thread.join();
        if (thrown.get() != null) {
            throw thrown.get();
        }
    }
}
