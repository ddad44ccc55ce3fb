package allocator.view;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.runtime.Environment;
import allocator.runtime.EnvironmentBuilder;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.spi.OutOfMemoryException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The advice for a request that failed between live blocks, followed: the same program with the other policy. */
class AdviceTest {
    private static final int MIB = 1 << 20;
    private static final int LIMIT = 64 * MIB;

    @TempDir
    private Path snapshots;

    /**
     * Pieces of free memory between blocks of 1 MiB that stay, in a first part of the limit, and a request that none of
     * them is large enough for.
     */
    private boolean isServed(String policy, int piece, int used) throws IOException {
        try (Environment environment = Environment.builder()
                        .option(EnvironmentBuilder.SNAPSHOT_ON_FAILURE, snapshots.toString())
                        .build();
                Session session = environment.openSession(SessionOptions.builder()
                        .provider("cpu-reference")
                        .option("ep.cpu-reference.arena.max_mem", Integer.toString(LIMIT))
                        .option("ep.cpu-reference.arena.initial_chunk_size_bytes", Integer.toString(LIMIT))
                        .option("ep.cpu-reference.arena.policy", policy)
                        .build())) {
            final ManagedAllocator memory = session.allocator();
            final List<Long> live = new ArrayList<>();
            final List<Long> pieces = new ArrayList<>();
            for (int taken = 0; taken + MIB + piece <= used; taken += MIB + piece) {
                live.add(memory.alloc(MIB));
                pieces.add(memory.alloc(piece));
            }
            while (memory.stats().bytesInUse() + MIB <= used) {
                live.add(memory.alloc(MIB));
            }
            pieces.forEach(memory::free);
            boolean isServed = true;
            try {
                live.add(memory.alloc(20 * MIB));
            } catch (OutOfMemoryException e) {
                isServed = false;
            }
            live.forEach(memory::free);
            return isServed;
        }
    }

    /** Returns whether the page of best fit's failure advises the policy of pages. */
    private boolean advisesCompact(int piece, int used) throws IOException {
        assertThat(isServed("best-fit", piece, used)).isFalse();
        try (Stream<Path> files = Files.list(snapshots)) {
            return Diagnosis.of(SnapshotFile.read(files.findFirst().orElseThrow())).orElseThrow().advice().stream()
                    .anyMatch(line -> line.contains("arena.policy=compact"));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {MIB / 4, MIB})
    void compactIsNotAdvisedForPiecesThatItDoesNotJoin(int piece) throws IOException {
        final int used = LIMIT * 7 / 8;
        assertThat(advisesCompact(piece, used)).isFalse();
        assertThat(isServed("compact", piece, used)).isFalse();
    }

    @ParameterizedTest
    @ValueSource(ints = {4 * MIB, 6 * MIB, 8 * MIB, 10 * MIB})
    void whereCompactIsAdvisedItServesTheRequest(int piece) throws IOException {
        final int used = LIMIT - 2 * MIB;
        assertThat(advisesCompact(piece, used)).isTrue();
        assertThat(isServed("compact", piece, used)).isTrue();
    }
}
