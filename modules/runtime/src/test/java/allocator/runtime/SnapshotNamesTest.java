package allocator.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.Event;
import allocator.spi.OutOfMemoryException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A name may have a million characters, and each block names its session. */
class SnapshotNamesTest {
    private static final String LONG = "x".repeat(198) + "\ud83d\ude00" + "y".repeat(1 << 20);
    private static final String CUT = "x".repeat(198) + "\u2026";

    @Test
    void aLongNameIsCut(@TempDir Path folder) throws IOException {
        try (Environment environment = Environment.builder()
                        .option(EnvironmentBuilder.SNAPSHOT_ON_FAILURE, folder.toString())
                        .option(EnvironmentBuilder.HISTORY, "100")
                        .build();
                Session session = environment.openSession(SessionOptions.builder()
                        .name(LONG)
                        .provider("cpu-reference")
                        .option("ep.cpu-reference.arena.max_mem", "1048576")
                        .build())) {
            final ManagedAllocator allocator = session.allocator();
            allocator.free(allocator.alloc(1000));
            assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> allocator.alloc(8 << 20));
            assertThat(session.name()).isEqualTo(LONG);
            final Snapshot snapshot = session.snapshot();
            assertThat(snapshot.scope()).isEqualTo(CUT);
            assertThat(snapshot.sessions().getFirst().name()).isEqualTo(CUT);
            assertThat(snapshot.allocators().getFirst().users().getFirst().owner())
                    .isEqualTo(CUT);
            assertThat(snapshot.history()).extracting(Event::owner).containsOnly("", CUT);
        }
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files)
                    .singleElement()
                    .satisfies(file -> assertThat(Files.size(file)).isLessThan(20_000));
        }
    }

    @Test
    void aNameOfTheMostCharactersStays() {
        final String most = "x".repeat(Snapshot.MAX_NAME);
        assertThat(new Snapshot.User(most, 1).owner()).isEqualTo(most);
        assertThat(new Snapshot.User(most + "x", 1).owner())
                .hasSize(Snapshot.MAX_NAME)
                .endsWith("x\u2026");
    }
}
