package allocator.cuda.arena;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.runtime.Environment;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.RunOptions;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Sessions with {@code arena.kind=bump} on a simulated device whose streams lag. */
class BumpSessionTest {
    private final SimulatedCudaDriver driver =
            SimulatedCudaDriver.builder().withLaggingStreams().build();
    private final Environment environment =
            Environment.builder().modulePathProviders(false).build();

    BumpSessionTest() {
        environment.register(driver.provider("cuda-arena"));
    }

    @AfterEach
    void nothingIsLeft() {
        environment.close();
        driver.close(); // throws if there was a hazard or is a leak
    }

    private Session open(String... keysAndValues) {
        final SessionOptions.Builder options = SessionOptions.builder().provider("cuda-arena");
        for (int i = 0; i < keysAndValues.length; i += 2) {
            options.option("ep.cuda-arena." + keysAndValues[i], keysAndValues[i + 1]);
        }
        return environment.openSession(options.build());
    }

    @Test
    void everyRunUsesTheSameMemory() {
        try (Session session = open("arena.kind", "bump", "arena.initial_chunk_size_bytes", "1048576")) {
            final List<List<Long>> runs = new ArrayList<>();
            for (int number = 0; number < 4; number++) {
                session.run(RunOptions.builder().build(), run -> runs.add(scratch(run.allocator(), run.stream(0))));
                assertThat(session.allocator().stats().bytesInUse()).isZero();
                assertThat(session.allocator().stats().bytesHeld()).isEqualTo(1 << 20);
            }
            assertThat(runs).allSatisfy(run -> assertThat(run).isEqualTo(runs.getFirst()));
        }
    }

    /** The blocks of one run, each written and right behind the one before. */
    private List<Long> scratch(ManagedAllocator allocator, SyncStream stream) {
        final List<Long> blocks = new ArrayList<>();
        for (int i = 1; i <= 20; i++) {
            final long block = allocator.allocOnStream(i * 2560L, stream);
            driver.memory().memsetD8Async(0, block, (byte) i, i * 2560L, stream.handle());
            blocks.add(block);
        }
        for (int i = 1; i < 20; i++) {
            assertThat(blocks.get(i) - blocks.get(i - 1)).isEqualTo(i * 2560L);
        }
        blocks.forEach(allocator::free);
        return blocks;
    }

    @Test
    void theKeysOfABumpArenaAreEffectiveOnDeviceMemoryAndNoOthers() {
        try (Session session = open("arena.kind", "bump", "arena.bump_max_mem", "2097152", "arena.policy", "slabs")) {
            assertThat(session.allocator().effectiveOptions().keys())
                    .contains("arena.kind", "arena.bump_max_mem", "arena.initial_chunk_size_bytes", "arena.max_mem")
                    .doesNotContain("arena.policy", "arena.extend_strategy", "arena.plan");
        }
        try (Session session = open("arena.bump_max_mem", "2097152")) {
            assertThat(session.allocator().effectiveOptions().keys())
                    .contains("arena.kind", "arena.policy")
                    .doesNotContain("arena.bump_max_mem");
        }
        try (Session session = open("arena.kind", "bump", "arena.use_cuda_mempool", "1")) {
            assertThat(session.allocator().effectiveOptions().keys())
                    .contains("arena.use_cuda_mempool")
                    .doesNotContain("arena.kind");
        }
    }
}
