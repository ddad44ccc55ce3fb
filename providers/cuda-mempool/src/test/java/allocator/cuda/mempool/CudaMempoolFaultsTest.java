package allocator.cuda.mempool;

import allocator.cuda.testkit.CudaFaultsInTurn;
import java.util.List;
import java.util.Map;

/** Each call of the driver fails in turn. */
class CudaMempoolFaultsTest extends CudaFaultsInTurn {
    CudaMempoolFaultsTest() {
        super(CudaMempoolFactory::new);
    }

    @Override
    protected List<Map<String, String>> settings() {
        return List.of(Map.of("arena.max_mem", "67108864"), Map.of("arena.cuda_mempool_release_threshold", "0"));
    }
}
