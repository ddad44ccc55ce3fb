package allocator.arena;

import allocator.simulation.structure.LiveMemory;
import allocator.simulation.structure.ModelCheck;
import allocator.spi.AllocatorOptions;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import java.util.Map;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Validate;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("thorough")
public class LanesModelTest {
    private static final int SMALL = 256;
    private static final int LARGE = 4096;

    private final LiveMemory live = new LiveMemory();
    private final FakeStream stream = new FakeStream(FakeDevice.INFO);
    private final BfcArena arena = new BfcArena(
            new FakeDevice(),
            ArenaConfig.from(AllocatorOptions.of(Map.of(
                    "arena.initial_chunk_size_bytes", "4096", "arena.max_mem", "16384", "arena.max_lanes", "2"))));

    @Operation
    public void allocate() {
        live.add(arena.alloc(SMALL), SMALL);
    }

    @Operation
    public void allocateOnStream() {
        live.add(arena.allocOnStream(SMALL, stream), SMALL);
    }

    @Operation
    public void grow() {
        live.add(arena.alloc(LARGE), LARGE);
    }

    @Operation
    public void free() {
        final long address = live.remove();
        if (address != 0) {
            arena.free(address);
        }
    }

    @Operation
    public void leaveMainLane() {
        arena.lanes.choice.leaveMainLane(LaneChoice.requester(stream));
    }

    @Operation
    public void releaseStream() {
        arena.releaseStream(stream);
    }

    @Operation
    public void shrink() {
        arena.shrink();
    }

    @Validate
    public void countsWhatIsLive() {
        arena.checkConsistency();
        if (arena.stats().requestedBytesInUse() != live.bytes()) {
            throw new AssertionError(arena.stats() + ", live " + live.bytes());
        }
    }

    @Test
    void noMemoryIsHandedOutTwiceAndNoneIsLost() {
        ModelCheck.checkParts(LanesModelTest.class, "allocator.arena.chunk.");
    }
}
