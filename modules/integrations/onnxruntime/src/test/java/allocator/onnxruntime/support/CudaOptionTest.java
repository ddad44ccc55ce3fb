package allocator.onnxruntime.support;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import allocator.spi.InvalidOptionException;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CudaOptionTest {
    @ParameterizedTest
    @CsvSource({
        "arena.max_mem, 5, arena.max_mem, 5",
        "ep.cuda.arena.max_mem, 5, arena.max_mem, 5",
        "ep.cudapluginexecutionprovider.arena.max_mem, 5, arena.max_mem, 5",
        "ep.CUDAExecutionProvider.arena.policy, compact, arena.policy, compact",
        "ep.cuda.ARENA.max_mem, 5, arena.max_mem, 5",
        "ep.cuda.arena.max_mem, 18446744073709551615, arena.max_mem, 0",
        "ep.cuda.arena.use_cuda_mempool, -1, arena.use_cuda_mempool, 0",
        "arena.use_cuda_mempool, 1, arena.use_cuda_mempool, 1",
        "gpu_mem_limit, 5, arena.max_mem, 5",
        "gpu_mem_limit, 18446744073709551615, arena.max_mem, 0",
        "arena_extend_strategy, kSameAsRequested, arena.extend_strategy, 1",
        "arena_extend_strategy, kNextPowerOfTwo, arena.extend_strategy, 0",
        "arena_extend_strategy, sideways, arena.extend_strategy, sideways",
        "ep.cuda.use_tf32, 1, ep.cuda.use_tf32, 1"
    })
    void anOptionHasTheNameThatProvidersKnow(String key, String value, String name, String itsValue) {
        assertEquals(new CudaOption(name, itsValue), CudaOption.of(key, value));
    }

    @Test
    void aPoolIsChosenByItsProvider() {
        final InvalidOptionException rejected =
                assertThrows(InvalidOptionException.class, () -> CudaOption.of("ep.cuda.Arena.USE_cuda_mempool", "1"));
        assertTrue(rejected.getMessage().contains("GpuMemory.of(\"cuda-mempool\")"), rejected::getMessage);
    }

    @Test
    void aSessionsArenaSettingsAreRejected() {
        assertDoesNotThrow(
                () -> CudaOption.requireNoArena(Map.of("ep.cuda.use_tf32", "1", "session.use_env_allocators", "1")
                        .entrySet()));
        final InvalidOptionException rejected = assertThrows(
                InvalidOptionException.class,
                () -> CudaOption.requireNoArena(
                        Map.of("ep.cuda.arena.max_mem", "5").entrySet()));
        assertTrue(rejected.getMessage().contains("GpuMemory.withOption"), rejected::getMessage);
    }
}
