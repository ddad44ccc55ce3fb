package allocator.view;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.runtime.Environment;
import allocator.runtime.EnvironmentBuilder;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.AllocatorState;
import allocator.spi.OutOfMemoryException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The walk of docs/snapshot.md: from an {@link OutOfMemoryException} to the line of the program. */
class WalkTest {
    private static final long MIB = 1 << 20;

    @TempDir
    private Path directory;

    private static void cacheEverything(ManagedAllocator allocator, List<Long> blocks) {
        while (true) {
            blocks.add(allocator.alloc(MIB));
        }
    }

    @Test
    void anExhaustedSessionLeadsToTheLineThatAskedForTooMuch() throws IOException {
        final EnvironmentBuilder builder =
                Environment.builder().option(EnvironmentBuilder.SNAPSHOT_ON_FAILURE, directory.toString());
        final SessionOptions options = SessionOptions.builder()
                .name("cache")
                .provider("cpu-reference")
                .option("memory.call_sites", "1")
                .option("ep.cpu-reference.arena.max_mem", Long.toString(16 * MIB))
                .build();
        try (Environment environment = builder.build();
                Session session = environment.openSession(options)) {
            final List<Long> blocks = new ArrayList<>();
            assertThatExceptionOfType(OutOfMemoryException.class)
                    .isThrownBy(() -> cacheEverything(session.allocator(), blocks));
            blocks.forEach(session.allocator()::free);
        }
        final Path file;
        try (Stream<Path> files = Files.list(directory)) {
            file = files.findFirst().orElseThrow();
        }
        final Path html = directory.resolve("failure.html");

        final Snapshot snapshot = SnapshotFile.read(file);
        Diagnosis.of(snapshot).ifPresent(diagnosis -> System.out.println(diagnosis.headline()));
        Files.writeString(html, Page.of("failure", snapshot));

        assertThat(Diagnosis.of(snapshot)).hasValueSatisfying(diagnosis -> {
            assertThat(diagnosis.cause()).isEqualTo(Diagnosis.Cause.LIVE);
            assertThat(diagnosis.headline())
                    .startsWith("cache asked for 1.00 MiB of Cpu (cpu:0): live blocks take")
                    .endsWith("of the limit of 16.0 MiB");
        });
        assertThat(snapshot.failure())
                .satisfies(failure ->
                        assertThat(failure.stack().getFirst()).contains("WalkTest.cacheEverything(WalkTest.java:"));
        assertThat(Files.readString(html)).contains("WalkTest.cacheEverything");
        final AllocatorState allocator = Diagnosis.failedAllocator(snapshot).orElseThrow();
        assertThat(Breakdown.by(Breakdown.By.SESSION, allocator).getFirst().name())
                .isEqualTo("cache");
        assertThat(Breakdown.by(Breakdown.By.SITE, allocator)).singleElement().satisfies(site -> {
            assertThat(site.name()).contains("WalkTest.cacheEverything(WalkTest.java:");
            assertThat(site.blocks()).isEqualTo(allocator.users().getFirst().liveBlocks());
        });
    }

    private static long load(ManagedAllocator allocator) {
        return allocator.alloc(MIB);
    }

    @Test
    void aSessionThatIsClosedWithALiveBlockLeadsToTheLineThatAllocatedIt() throws IOException {
        final EnvironmentBuilder builder = Environment.builder()
                .option(EnvironmentBuilder.LEAKS, "full")
                .option(EnvironmentBuilder.LEAKS_REPORT, directory.toString());
        final SessionOptions options =
                SessionOptions.builder().name("cache").provider("cpu-reference").build();
        try (Environment environment = builder.build()) {
            final Session session = environment.openSession(options);
            final long leaked = load(session.allocator());
            session.close();
            session.allocator().free(leaked);
        }
        final Path file;
        try (Stream<Path> files = Files.list(directory)) {
            file = files.findFirst().orElseThrow();
        }

        final Snapshot report = SnapshotFile.read(file);

        assertThat(report.leaks()).satisfies(leaks -> {
            assertThat(leaks.closed()).isEqualTo("session cache");
            assertThat(leaks.sites()).singleElement().satisfies(site -> {
                assertThat(site.frame()).contains("WalkTest.load(WalkTest.java:");
                assertThat(site.bytes()).isEqualTo(MIB);
            });
        });
        assertThat(Page.of("leaks", report)).contains("WalkTest.load(WalkTest.java:");
    }
}
