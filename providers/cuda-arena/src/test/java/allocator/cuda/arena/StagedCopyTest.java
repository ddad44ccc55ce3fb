package allocator.cuda.arena;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.cuda.testkit.Capture;
import allocator.runtime.Environment;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.spi.MemoryRange;
import allocator.spi.SyncStream;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

/** Copies through pinned memory that is not pooled: its free waits for the device. */
class StagedCopyTest {
    @Test
    void arraysAreCopiedBesideACapture() {
        try (SimulatedCudaDriver gpu = SimulatedCudaDriver.builder().build(); // its close throws if anything is left
                Environment environment =
                        Environment.builder().modulePathProviders(false).build()) {
            environment.register(gpu.provider("cuda-arena"));
            try (Session session = environment.openSession(SessionOptions.builder()
                            .provider("cuda-arena")
                            .option("ep.cuda-arena.arena.use_cuda_mempool", "1") // then pinned memory is not pooled
                            .build());
                    SyncStream captured = session.openStream()) {
                final ManagedAllocator memory = session.allocator();
                final byte[] bytes = {1, 2, 3, 4};
                final MemoryRange range = memory.range(memory.alloc(bytes.length), bytes.length);
                final Capture capture = Capture.of(gpu, captured);
                session.transfers().copy(MemorySegment.ofArray(bytes), range);
                assertThat(session.liveBlocks()).isEqualTo(1);
                capture.close();
                final byte[] result = new byte[bytes.length];
                session.transfers().copy(range, MemorySegment.ofArray(result));
                assertThat(result).isEqualTo(bytes);
                memory.free(range.address());
            }
        }
    }
}
