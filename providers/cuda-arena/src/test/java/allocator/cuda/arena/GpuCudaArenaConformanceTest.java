package allocator.cuda.arena;

import allocator.conformance.AllocatorConformance;
import allocator.cuda.testkit.GpuDriver;
import allocator.spi.EpFactory;
import org.junit.jupiter.api.BeforeAll;

/** On this machine's GPU. */
class GpuCudaArenaConformanceTest extends AllocatorConformance {
    @BeforeAll
    static void requireGpu() {
        GpuDriver.require();
    }

    @Override
    protected EpFactory factory() {
        return new CudaArenaFactory();
    }
}
