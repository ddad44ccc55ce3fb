package allocator.cuda.mempool;

import allocator.conformance.AllocatorConformance;
import allocator.cuda.testkit.GpuDriver;
import allocator.spi.EpFactory;
import org.junit.jupiter.api.BeforeAll;

/** On this machine's GPU. */
class GpuCudaMempoolConformanceTest extends AllocatorConformance {
    @BeforeAll
    static void requireGpu() {
        GpuDriver.require();
    }

    @Override
    protected EpFactory factory() {
        return new CudaMempoolFactory();
    }
}
