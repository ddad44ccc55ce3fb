package allocator.cpu.reference;

import allocator.conformance.AllocatorConformance;
import allocator.conformance.ConformanceSettings;
import allocator.spi.EpFactory;
import allocator.testkit.PlanFiles;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

/** The provider keeps the whole contract with {@code arena.plan} too: plans that the programs begin to follow. */
@Tag("thorough")
class KnownPlansConformanceTest extends AllocatorConformance {
    @TempDir
    private static Path folder;

    @Override
    protected EpFactory factory() {
        return PlanFiles.known(new CpuReferenceFactory(), folder);
    }

    @Override
    protected ConformanceSettings settings(ConformanceSettings configured) {
        return configured.withQuick(true);
    }
}
