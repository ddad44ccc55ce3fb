package allocator.cpu.reference;

import allocator.arena.BfcArena;
import allocator.plan.PlanFile;
import allocator.provider.support.BlockLedger;
import allocator.spi.Allocator;
import allocator.testkit.OwnJvm;
import allocator.testkit.SmallHeap;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class FirstUseTest {
    @Tag("thorough")
    @Test
    void anAllocationCanBeRepeatedAfterTheHeapHasEndedInTheFirstOne() throws Exception {
        OwnJvm.run(
                List.of(
                        FirstUse.class,
                        CpuReferenceFactory.class,
                        BfcArena.class,
                        PlanFile.class,
                        Allocator.class,
                        BlockLedger.class,
                        SmallHeap.class),
                FirstUse.class,
                List.of("-Xmx20m", "--enable-native-access=ALL-UNNAMED"));
    }
}
