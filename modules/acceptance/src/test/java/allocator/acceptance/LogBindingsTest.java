package allocator.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The samples of {@code docs/logging.md}, each in a JVM of its own. */
class LogBindingsTest {
    private static final Path JARS = Shipped.ROOT.resolve("modules/cli/target/distribution/lib");
    private static final Path LOGBACK = Path.of("target", "logback").toAbsolutePath();

    /** What the runtime logs at debug level when it finds the provider. */
    private static final String ROUTINE = "registered cpu-reference with 1 devices";

    @TempDir
    private Path folder;

    @Test
    void withoutConfigurationTheLibraryIsSilent() throws Exception {
        assertThat(run(List.of())).doesNotContain("registered", "INFO", "FINE", "WARNING");
    }

    @Test
    void javaUtilLogging() throws Exception {
        final Path file = sample("properties", "java.util.logging.ConsoleHandler", "logging.properties");
        assertThat(run(List.of("-Djava.util.logging.config.file=" + file)))
                .contains("allocator.runtime FINE: " + ROUTINE);
    }

    @Test
    void log4j() throws Exception {
        sample("properties", "appender.console", "log4j2.properties");
        assertThat(run(List.of(), jars(JARS, "log4j").toArray(Path[]::new)))
                .contains("DEBUG allocator.runtime - " + ROUTINE);
    }

    @Test
    void logback() throws Exception {
        assumeTrue(Files.isDirectory(LOGBACK), "the build has not copied Logback");
        sample("xml", "ch.qos.logback", "logback.xml");
        assertThat(run(List.of(), jars(LOGBACK, "").toArray(Path[]::new)))
                .contains("DEBUG allocator.runtime - " + ROUTINE);
    }

    /** Writes a sample of the page to a file. */
    private Path sample(String language, String word, String name) throws IOException {
        final String page = Files.readString(Shipped.ROOT.resolve("docs/logging.md"));
        final Matcher samples =
                Pattern.compile("(?s)```" + language + "\n(.*?)```").matcher(page);
        final String text = samples.results()
                .map(sample -> sample.group(1))
                .filter(sample -> sample.contains(word))
                .findFirst()
                .orElseThrow();
        return Files.writeString(folder.resolve(name), text);
    }

    private static List<Path> jars(Path from, String prefix) throws IOException {
        try (Stream<Path> jars = Files.list(from)) {
            return jars.filter(jar -> jar.getFileName().toString().startsWith(prefix))
                    .toList();
        }
    }

    /**
     * Runs a program with our jars, the sample's folder and further jars on the class path; returns what it printed.
     */
    private String run(List<String> options, Path... libraries) throws IOException, InterruptedException {
        final List<Path> path = new ArrayList<>(List.of(folder, Path.of("target", "test-classes")));
        jars(JARS, "java-allocator").stream()
                .filter(jar -> !jar.getFileName().toString().startsWith("java-allocator-cli"))
                .forEach(path::add);
        path.addAll(jars(JARS, "jcuda"));
        path.addAll(List.of(libraries));
        final List<String> command = new ArrayList<>(List.of(
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                path.stream().map(Path::toString).collect(Collectors.joining(System.getProperty("path.separator")))));
        command.addAll(options);
        command.add(ClassPathProgram.class.getName());
        command.add("allocator.cpu.reference.CpuReferenceFactory");
        command.add("allocator.cuda.arena.CudaArenaFactory");
        command.add("allocator.cuda.mempool.CudaMempoolFactory");
        final Started started = Started.java(command);
        assertThat(started.code()).as(started.output()).isZero();
        return started.output();
    }
}
