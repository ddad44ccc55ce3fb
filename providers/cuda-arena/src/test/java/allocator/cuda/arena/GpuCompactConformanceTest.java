package allocator.cuda.arena;

import allocator.conformance.AllocatorConformance;
import allocator.cuda.testkit.GpuDriver;
import allocator.spi.EpFactory;
import allocator.testkit.DefaultedFactory;
import org.junit.jupiter.api.BeforeAll;

/** With {@code arena.policy=compact}, on this machine's GPU. */
class GpuCompactConformanceTest extends AllocatorConformance {
    @BeforeAll
    static void requireGpu() {
        GpuDriver.require();
    }

    @Override
    protected EpFactory factory() {
        return DefaultedFactory.compact(new CudaArenaFactory());
    }
}
