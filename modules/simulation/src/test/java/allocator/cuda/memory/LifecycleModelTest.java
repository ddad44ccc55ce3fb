package allocator.cuda.memory;

import allocator.simulation.structure.ModelCheck;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Test;

public class LifecycleModelTest {
    private final Lifecycle lifecycle = new Lifecycle();
    private volatile boolean isReleased;

    @Operation
    public String use() {
        if (!lifecycle.tryEnter()) {
            return "is rejected";
        }
        try {
            return isReleased ? "uses what is released" : "uses";
        } finally {
            lifecycle.exit();
        }
    }

    @Operation
    public void close() {
        lifecycle.beginClose();
        isReleased = true;
        lifecycle.endClose(true);
    }

    /** A close that finds the factory in use. */
    @Operation
    public void closeInVain() {
        lifecycle.beginClose();
        lifecycle.endClose(false);
    }

    @Test
    void noCallIsInsideWhileAFactoryReleases() {
        ModelCheck.check(LifecycleModelTest.class);
    }
}
