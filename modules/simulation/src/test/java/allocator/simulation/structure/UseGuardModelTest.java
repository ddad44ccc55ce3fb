package allocator.simulation.structure;

import allocator.provider.support.UseGuard;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("thorough")
public class UseGuardModelTest {
    private final UseGuard guard = new UseGuard();
    private volatile boolean isDestroyed;

    @Operation
    public String use() {
        if (!guard.tryEnter()) {
            return "closed";
        }
        try {
            return isDestroyed ? "used, and is destroyed" : "used";
        } finally {
            guard.exit();
        }
    }

    /** Closes, as every thread does that wants the handle destroyed: one that is not the first waits as well. */
    @Operation
    public void close() {
        guard.close();
        isDestroyed = true;
    }

    @Test
    void nobodyIsInsideOnceAnyCloseHasReturned() {
        ModelCheck.checkThree(UseGuardModelTest.class);
    }
}
