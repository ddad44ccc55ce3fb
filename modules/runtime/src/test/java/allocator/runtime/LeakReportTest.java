package allocator.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.spi.InvalidOptionException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What is reported of blocks that are live when a session is closed, or when the environment cannot be. That it leads
 * to the line is proved by {@code WalkTest} of java.allocator.view: frames of this package count as the runtime's.
 */
class LeakReportTest {
    @TempDir
    private Path folder;

    private final Logger logger = Logger.getLogger("allocator.runtime");
    private final List<String> warnings = new CopyOnWriteArrayList<>();
    private final Handler handler = new Handler() {
        @Override
        public void publish(LogRecord record) {
            if (record.getLevel().equals(Level.WARNING)) {
                warnings.add(record.getMessage());
            }
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    };

    @BeforeEach
    void listen() {
        logger.addHandler(handler);
    }

    @AfterEach
    void stop() {
        logger.removeHandler(handler);
    }

    private Environment open(String leaks, Path directory) {
        return Environment.builder()
                .option(EnvironmentBuilder.LEAKS, leaks)
                .option(EnvironmentBuilder.LEAKS_REPORT, directory.toString())
                .build();
    }

    private static Session session(Environment environment, String... options) {
        final SessionOptions.Builder builder =
                SessionOptions.builder().name("bert").provider("cpu-reference");
        for (int i = 0; i < options.length; i += 2) {
            builder.option(options[i], options[i + 1]);
        }
        return environment.openSession(builder.build());
    }

    private static long leak(ManagedAllocator allocator) {
        return allocator.alloc(1000);
    }

    private static long leakMore(ManagedAllocator allocator) {
        return allocator.reserve(5000);
    }

    private static String only(Path directory) {
        try (Stream<Path> files = Files.list(directory)) {
            final List<Path> all = files.toList();
            assertThat(all)
                    .singleElement()
                    .satisfies(file ->
                            assertThat(file.getFileName().toString()).matches("allocator-leaks-[0-9-]+\\.json"));
            return Files.readString(all.getFirst());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void aSessionThatIsClosedWithLiveBlocksIsReportedByCallSite() {
        final Path directory = folder.resolve("new");
        try (Environment environment = open("full", directory)) {
            final Session session = session(environment);
            final ManagedAllocator allocator = session.allocator();
            final List<Long> blocks = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                blocks.add(leak(allocator));
            }
            blocks.add(leakMore(allocator));
            allocator.free(allocator.alloc(77));
            session.close();
            session.close();

            assertThat(only(directory))
                    .startsWith("{\"format\":\"java.allocator.snapshot\",\"version\":1,")
                    .contains("\"scope\":\"bert\",\"leaks\":{\"closed\":\"session bert\",\"blocks\":4,\"recorded\":4,"
                            + "\"omitted_sites\":0,\"sites\":[{\"owner\":\"bert\",\"memory\":\"Cpu (cpu:0)\",")
                    .contains("\"blocks\":4,\"bytes\":8000,")
                    .contains("[1024,1000,\"live\",0]");
            assertThat(warnings)
                    .singleElement()
                    .asString()
                    .startsWith("session bert: 4 blocks are live, 4 of them recorded: "
                            + "4 with 8000 bytes of Cpu (cpu:0) at ")
                    .contains("; report written to " + directory);
            blocks.forEach(allocator::free);
        }
        assertThat(warnings).hasSize(1);
    }

    @Test
    void withoutTheOptionNothingIsRecordedOrReported() {
        try (Environment environment = Environment.builder().build()) {
            final Session session = session(environment);
            final long block = leak(session.allocator());
            assertThat(session.snapshot().allocators().getFirst().sites()).isEmpty();
            session.close();
            session.allocator().free(block);
        }
        assertThat(warnings).isEmpty();
    }

    @Test
    void aSessionWithoutLiveBlocksIsNotReported() {
        try (Environment environment = open("full", folder.resolve("none"))) {
            final Session session = session(environment);
            session.allocator().free(leak(session.allocator()));
            session.close();
        }
        assertThat(warnings).isEmpty();
        assertThat(folder.resolve("none")).doesNotExist();
    }

    @Test
    void aSampleIsRecordedOfManyBlocks() {
        try (Environment environment = open("sampled", folder)) {
            final Session session = session(environment);
            final List<Long> blocks = new ArrayList<>();
            for (int i = 0; i < 2000; i++) {
                blocks.add(leak(session.allocator()));
            }
            final int recorded =
                    session.snapshot().allocators().getFirst().sites().size();
            assertThat(recorded).isBetween(2, 60);
            session.close();
            assertThat(only(folder)).contains("\"blocks\":2000,\"recorded\":" + recorded + ",");
            blocks.forEach(session.allocator()::free);
        }
    }

    @Test
    void whatASessionSaysAboutCallSitesPrevails() {
        try (Environment environment = open("full", folder)) {
            final Session session = session(environment, SessionOptions.CALL_SITES.name(), "0");
            final long block = leak(session.allocator());
            session.close();
            assertThat(only(folder)).contains("\"blocks\":1,\"recorded\":0,\"omitted_sites\":0,\"sites\":[]");
            assertThat(warnings).singleElement().asString().startsWith("session bert: 1 block is live, 0 of them");
            session.allocator().free(block);
        }
    }

    @Test
    void aSessionThatIsClosedInARunIsReportedAtItsEnd() {
        try (Environment environment = open("full", folder)) {
            final Session session = session(environment);
            final long[] blocks = new long[2];
            session.run(RunOptions.DEFAULT, run -> {
                blocks[0] = leak(run.allocator());
                blocks[1] = leak(run.allocator());
                session.close();
                assertThat(warnings).isEmpty();
                run.allocator().free(blocks[0]);
            });
            assertThat(only(folder)).contains("\"closed\":\"session bert\",\"blocks\":1,");
            session.allocator().free(blocks[1]);
        }
    }

    @Test
    void anEnvironmentThatCannotBeClosedReportsAllLiveBlocks() {
        final Environment environment = open("full", folder);
        final Session session = session(environment);
        final long ofSession = leak(session.allocator());
        final ManagedAllocator shared = environment.sharedAllocators().getFirst();
        final long ofEnvironment = leakMore(shared);

        assertThatExceptionOfType(StillInUseException.class)
                .isThrownBy(environment::close)
                .withMessageContaining("environment has 1 live block");

        assertThat(only(folder))
                .contains("\"closed\":\"environment that cannot be closed\",\"blocks\":2,\"recorded\":2,")
                .contains("{\"owner\":\"environment\",", "{\"owner\":\"bert\",");
        session.allocator().free(ofSession);
        shared.free(ofEnvironment);
        session.close();
        environment.close();
        assertThat(warnings).hasSize(1);
    }

    /** Users of one instance may free one another's blocks. */
    @Test
    void aBlockThatAnotherOwnerHasFreedIsNotReported() {
        try (Environment environment = open("full", folder)) {
            final Session session = session(environment, SessionOptions.USE_ENV_ALLOCATORS.name(), "1");
            final ManagedAllocator shared = environment.sharedAllocators().getFirst();
            assertThat(shared.isSameInstanceAs(session.allocator())).isTrue();
            final long freed = leakMore(session.allocator());
            final long live = leak(session.allocator());
            shared.free(freed);
            session.close();
            assertThat(only(folder))
                    .contains("\"recorded\":1,", "\"blocks\":1,\"bytes\":1000,")
                    .doesNotContain(",5000]");
            session.allocator().free(live);
        }
    }

    /** A file in the way, a device that is full, and a path that cannot be made: one line of the log each. */
    @ParameterizedTest
    @ValueSource(strings = {"file", "/dev/full", "/proc/none/deeper"})
    void aReportThatCannotBeWrittenCostsOneLine(String name) throws IOException {
        final Path hostile = name.startsWith("/") ? Path.of(name) : Files.createFile(folder.resolve(name));
        try (Environment environment = open("full", hostile)) {
            final Session session = session(environment);
            final long block = leak(session.allocator());
            session.close();
            assertThat(warnings)
                    .singleElement()
                    .asString()
                    .startsWith("session bert: 1 block is live, 1 of them recorded: 1 with 1000 bytes")
                    .contains("; no report in " + hostile + ": ")
                    .hasLineCount(1);
            session.allocator().free(block);
        }
    }

    @Test
    void aDirectoryGetsAtMostSixteen() throws IOException {
        try (Environment environment = open("full", folder)) {
            for (int i = 0; i < 20; i++) {
                final Session session = session(environment);
                final long block = leak(session.allocator());
                session.close();
                session.allocator().free(block);
            }
        }
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files).hasSize(16);
        }
        assertThat(warnings).hasSize(20);
        assertThat(warnings.get(16)).contains(folder + " holds 16 reports: no further one is written");
        assertThat(warnings.get(17)).doesNotContain(folder.toString());
    }

    @Test
    void aNameOfSeveralLinesIsLoggedInOne() {
        try (Environment environment =
                Environment.builder().option(EnvironmentBuilder.LEAKS, "full").build()) {
            final Session session = environment.openSession(SessionOptions.builder()
                    .name("bert\nWARNING: all is \u001b[2J\u202ewell")
                    .provider("cpu-reference")
                    .build());
            final long block = leak(session.allocator());
            session.close();
            assertThat(warnings)
                    .singleElement()
                    .asString()
                    .startsWith("session bert; WARNING: all is  [2J well: 1 block is live")
                    .hasLineCount(1);
            session.allocator().free(block);
        }
    }

    @ParameterizedTest
    @CsvSource({"memory.leaks, 1", "memory.leaks, on", "memory.leaks, ''", "memory.leaks_report, ' '"})
    void otherValuesAreRejected(String key, String value) {
        assertThatExceptionOfType(InvalidOptionException.class)
                .isThrownBy(() -> Environment.builder().option(key, value))
                .withMessageContaining(key);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "off"})
    void aDirectoryAloneIsRejected(String leaks) {
        final EnvironmentBuilder builder =
                Environment.builder().option(EnvironmentBuilder.LEAKS_REPORT, folder.toString());
        if (!leaks.isEmpty()) {
            builder.option(EnvironmentBuilder.LEAKS, leaks);
        }
        assertThatExceptionOfType(InvalidOptionException.class)
                .isThrownBy(builder::build)
                .withMessage("option memory.leaks_report='" + folder
                        + "' (from environment) is not accepted without memory.leaks=sampled or memory.leaks=full");
    }
}
