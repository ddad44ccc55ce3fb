package allocator.cuda.mempool;

import allocator.cuda.testkit.SimulatedConformance;

/** On a simulated device whose streams lag, with each driver call failing in turn. */
class CudaMempoolConformanceTest extends SimulatedConformance {
    CudaMempoolConformanceTest() {
        super(CudaMempoolFactory::new);
    }
}
