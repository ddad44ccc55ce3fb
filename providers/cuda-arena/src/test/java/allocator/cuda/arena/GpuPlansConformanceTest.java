package allocator.cuda.arena;

import allocator.conformance.AllocatorConformance;
import allocator.cuda.testkit.GpuDriver;
import allocator.spi.EpFactory;
import allocator.testkit.PlanFiles;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;

/** With {@code arena.plan}, on this machine's GPU: plans that the programs begin to follow. */
class GpuPlansConformanceTest extends AllocatorConformance {
    @TempDir
    private static Path folder;

    @BeforeAll
    static void requireGpu() {
        GpuDriver.require();
    }

    @Override
    protected EpFactory factory() {
        return PlanFiles.known(new CudaArenaFactory(), folder);
    }
}
