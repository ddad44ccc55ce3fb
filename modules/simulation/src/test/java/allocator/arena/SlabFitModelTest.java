package allocator.arena;

import allocator.simulation.structure.LiveMemory;
import allocator.simulation.structure.ModelCheck;
import allocator.spi.AllocatorOptions;
import allocator.testkit.FakeDevice;
import java.util.Map;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.Validate;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Param(name = "granules", gen = IntGen.class, conf = "1:3")
@Tag("thorough")
public class SlabFitModelTest {
    private final LiveMemory live = new LiveMemory();
    private final BfcArena arena = new BfcArena(
            new FakeDevice(),
            ArenaConfig.from(
                    AllocatorOptions.of(Map.of("arena.initial_chunk_size_bytes", "4m", "arena.policy", "slabs"))));

    @Operation
    public void allocate(@Param(name = "granules") int granules) {
        live.add(arena.alloc(256L * granules), 256L * granules);
    }

    @Operation
    public void free() {
        final long address = live.remove();
        if (address != 0) {
            arena.free(address);
        }
    }

    @Operation
    public long inUse() {
        return arena.stats().numReserves();
    }

    @Validate
    public void countsWhatIsLive() {
        arena.checkConsistency();
        if (arena.stats().requestedBytesInUse() != live.bytes()) {
            throw new AssertionError(arena.stats() + ", live " + live.bytes());
        }
    }

    @Test
    void noUnitIsHandedOutTwice() {
        ModelCheck.checkParts(SlabFitModelTest.class, "allocator.arena.chunk.");
    }
}
