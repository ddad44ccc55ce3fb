package allocator.simulation.structure;

import allocator.provider.support.internal.BriefLock;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("thorough")
public class BriefLockModelTest {
    private final BriefLock lock = new BriefLock();
    private int count;

    @Operation
    public int increment() {
        lock.lock();
        try {
            return ++count;
        } finally {
            lock.unlock();
        }
    }

    @Test
    void oneThreadAtATimeHoldsTheLock() {
        ModelCheck.check(BriefLockModelTest.class);
    }
}
