package allocator.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A session on a bump arena: the sample of the provider's page. */
class ScratchSessionTest {
    @Test
    void everyRunOfAScratchSessionUsesTheSameMemory() {
        final SessionOptions options = SessionOptions.builder()
                .name("scratch")
                .provider("cpu-reference")
                .option("ep.cpu-reference.arena.kind", "bump")
                .option("ep.cpu-reference.arena.initial_chunk_size_bytes", "1048576")
                .build();
        try (Environment environment = Environment.builder().build();
                Session session = environment.openSession(options)) {
            final List<List<Long>> runs = new ArrayList<>();
            for (int number = 0; number < 4; number++) {
                session.run(RunOptions.builder().build(), run -> runs.add(scratch(run.allocator(), run.stream(0))));
                assertThat(session.allocator().stats().bytesInUse()).isZero();
                assertThat(session.allocator().stats().bytesHeld()).isEqualTo(1_048_576 + 2_097_152);
            }
            assertThat(runs).allSatisfy(run -> assertThat(run).isEqualTo(runs.getFirst()));
        }
    }

    /** The blocks of one run, each behind the one before. */
    private static List<Long> scratch(ManagedAllocator allocator, SyncStream stream) {
        final List<Long> blocks = new ArrayList<>();
        for (int i = 1; i <= 40; i++) {
            blocks.add(allocator.allocOnStream(i * 1500L, stream));
        }
        for (int i = 1; i < 17; i++) {
            assertThat(blocks.get(i) - blocks.get(i - 1)).isBetween(i * 1500L, i * 1500L + 255);
        }
        blocks.forEach(allocator::free);
        return blocks;
    }
}
