package allocator.simulation.structure;

import allocator.resource.AllocatorResource;
import allocator.resource.ResourceStatistics;
import allocator.resource.StatisticsResource;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("thorough")
public class StatisticsModelTest {
    private static final int MOST_BLOCKS = 9;

    private final StatisticsResource resource =
            new StatisticsResource(new AllocatorResource(new ReusingDevice(MOST_BLOCKS)));

    @Operation
    public void allocate() {
        resource.allocate(ReusingDevice.BLOCK, ReusingDevice.BLOCK);
    }

    @Operation
    public void push() {
        resource.push();
    }

    @Operation
    public String pop() {
        try {
            return count(resource.pop());
        } catch (IllegalStateException e) {
            return "no scope";
        }
    }

    @Operation
    public String statistics() {
        return count(resource.statistics());
    }

    private static String count(ResourceStatistics statistics) {
        return statistics.blocks() + " of " + statistics.totalBlocks();
    }

    @Test
    void everyAllocationIsCountedInAScopeThatHasNotEnded() {
        ModelCheck.check(StatisticsModelTest.class);
    }
}
