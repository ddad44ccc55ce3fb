package allocator.cuda.arena;

import allocator.cuda.testkit.CudaFaultsInTurn;
import java.util.List;
import java.util.Map;

/** Each call of the driver fails in turn. */
class CudaArenaFaultsTest extends CudaFaultsInTurn {
    CudaArenaFaultsTest() {
        super(CudaArenaFactory::new);
    }

    @Override
    protected List<Map<String, String>> settings() {
        return List.of(
                Map.of("arena.use_cuda_mempool", "1"),
                Map.of("arena.policy", "slabs", "arena.initial_chunk_size_bytes", "65536"),
                Map.of("arena.paged_reserves", "1"),
                Map.of("arena.extend_strategy", "1"));
    }
}
