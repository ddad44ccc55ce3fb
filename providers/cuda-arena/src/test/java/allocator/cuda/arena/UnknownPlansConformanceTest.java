package allocator.cuda.arena;

import allocator.conformance.ConformanceSettings;
import allocator.cuda.testkit.SimulatedConformance;
import allocator.testkit.PlanFiles;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

/**
 * With {@code arena.plan}, on a simulated device whose streams lag, with each driver call failing in turn: plans that
 * the programs do not follow.
 */
@Tag("thorough")
class UnknownPlansConformanceTest extends SimulatedConformance {
    @TempDir
    private static Path folder;

    UnknownPlansConformanceTest() {
        super(driver -> PlanFiles.unknown(new CudaArenaFactory(driver), folder));
    }

    @Override
    protected ConformanceSettings settings(ConformanceSettings configured) {
        return configured.withQuick(true);
    }
}
