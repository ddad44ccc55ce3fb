package allocator.arena;

import allocator.simulation.structure.LiveMemory;
import allocator.simulation.structure.ModelCheck;
import allocator.spi.AllocatorOptions;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeDevice;
import java.util.Map;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** An arena whose limit is one region of five blocks. */
@Tag("thorough")
public class LaneGrowthModelTest {
    private static final int BLOCK = 1024;

    private final LiveMemory live = new LiveMemory();
    private final BfcArena arena = new BfcArena(
            new FakeDevice(),
            ArenaConfig.from(AllocatorOptions.of(Map.of(
                    "arena.initial_chunk_size_bytes", "5120", "arena.max_mem", "5120", "arena.max_lanes", "1"))));

    @Operation
    public boolean allocate() {
        try {
            live.add(arena.alloc(BLOCK), BLOCK);
            return true;
        } catch (OutOfMemoryException e) {
            return false;
        }
    }

    @Operation
    public boolean free() {
        final long address = live.remove();
        if (address != 0) {
            arena.free(address);
        }
        return address != 0;
    }

    @Operation
    public void shrink() {
        arena.shrink();
    }

    @Test
    void aRequestFailsOnlyWhereNoOrderOfTheCallsLeavesRoom() {
        ModelCheck.checkParts(LaneGrowthModelTest.class, "allocator.arena.chunk.");
    }
}
