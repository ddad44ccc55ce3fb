package allocator.simulation.structure;

import allocator.arena.bump.BumpConfig;
import allocator.arena.bump.SharedBumpArena;
import allocator.arena.bump.StaleAddressException;
import allocator.testkit.FakeDevice;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Validate;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("thorough")
public class SharedBumpModelTest {
    private final SharedBumpArena arena = new SharedBumpArena(new FakeDevice(), BumpConfig.growing(4096));

    /** Address and generation of the blocks that were live after their allocation. Guarded by itself. */
    private final Set<String> seen = new HashSet<>();

    /** By generation. Guarded as the blocks are. */
    private final Map<Long, Long> bytes = new HashMap<>();

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
            bytes.merge(generation, byteSize, Long::sum);
        }
    }

    @Operation
    public void reset() {
        arena.reset();
    }

    /** A block that a reset frees may be counted in the generation that the reset begins, so more may be counted. */
    @Validate
    public void countsWhatWasRequested() {
        final long requested = arena.stats().requestedBytes();
        final long known = bytes.getOrDefault(arena.generation(), 0L);
        if (requested < known) {
            throw new AssertionError(requested + " bytes are counted of " + known);
        }
    }

    @Test
    void noBlockOfAGenerationIsHandedOutTwice() {
        ModelCheck.check(SharedBumpModelTest.class);
    }
}
