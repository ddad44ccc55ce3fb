package allocator.simulation.structure;

import allocator.provider.support.ReturnGate;
import java.util.concurrent.atomic.AtomicInteger;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Test;

public class ReturnGateModelTest {
    private final ReturnGate gate = new ReturnGate();
    private final AtomicInteger allocating = new AtomicInteger();
    private volatile boolean isReturning;

    @Operation
    public boolean allocate() {
        gate.enterAllocation();
        allocating.incrementAndGet();
        final boolean isBesideReturn = isReturning;
        allocating.decrementAndGet();
        gate.exitAllocation();
        return isBesideReturn;
    }

    @Operation
    public int returnAgain() {
        gate.enterReturn();
        final boolean wasReturning = isReturning;
        isReturning = true;
        final int beside = allocating.get() + (wasReturning ? 1 : 0);
        isReturning = false;
        gate.exitReturn();
        return beside;
    }

    @Test
    void aReturnIsAlone() {
        ModelCheck.checkThree(ReturnGateModelTest.class);
    }
}
