package allocator.cuda.arena;

import allocator.cuda.testkit.SimulatedConformance;

/** On a simulated device whose streams lag, with each driver call failing in turn. */
class CudaArenaConformanceTest extends SimulatedConformance {
    CudaArenaConformanceTest() {
        super(CudaArenaFactory::new);
    }
}
