package allocator.simulation.structure;

import allocator.arena.bump.BumpConfig;
import allocator.arena.bump.SharedBumpArena;
import allocator.arena.bump.StaleAddressException;
import allocator.testkit.FakeDevice;
import java.util.HashSet;
import java.util.Set;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Test;

public class SharedBumpModelTest {
    private final SharedBumpArena arena = new SharedBumpArena(new FakeDevice(), BumpConfig.growing(4096));

    /** Address and generation of the blocks that were live after their allocation. Guarded by itself. */
    private final Set<String> seen = new HashSet<>();

    @Operation
    public void small() {
        allocate(256);
    }

    @Operation
    public void large() {
        allocate(3000);
    }

    private void allocate(long byteSize) {
        final long generation = arena.generation();
        final long address = arena.allocate(byteSize, 256);
        try {
            arena.requireLive(address, generation);
        } catch (StaleAddressException e) {
            return;
        }
        final String block = address + " in " + generation;
        synchronized (seen) {
            if (!seen.add(block)) {
                throw new AssertionError(block + " was handed out twice");
            }
        }
    }

    @Operation
    public void reset() {
        arena.reset();
    }

    @Test
    void noBlockOfAGenerationIsHandedOutTwice() {
        ModelCheck.check(SharedBumpModelTest.class);
    }
}
