package allocator.architecture.tests;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The sample of a third-party provider builds against our jars alone, and passes the kit in a JVM of its own. */
class SampleProviderTest {
    private static final Path RUNNER = ReactorModule.ROOT.resolve("modules/conformance/runner");
    private static final Path RUNNER_JAR = RUNNER.resolve("target/java-allocator-conformance-runner.jar");
    private static final Path SUPPORT =
            ReactorModule.ROOT.resolve("modules/provider-support/target/java-allocator-provider-support.jar");
    private static final Path SAMPLE = SampleJar.SAMPLES.resolve("buddy");
    private static final Path RESOURCES = SAMPLE.resolve("src/main/resources");

    @Test
    @Tag("thorough")
    void theSampleBuildsAndConforms(@TempDir Path folder) throws Exception {
        final Path jar = build(folder);
        final Path log = folder.resolve("log");
        final Process kit = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        // A process that lives for seconds.
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-p",
                        modulePath() + System.getProperty("path.separator") + jar,
                        "--enable-native-access=com.example.buddy",
                        "--illegal-native-access=deny",
                        "-m",
                        "java.allocator.conformance.runner/allocator.conformance.runner.Main",
                        "--provider",
                        "buddy",
                        "--quick",
                        "--timeout",
                        "60",
                        "--report",
                        folder.resolve("report").toString())
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        final boolean ended = kit.waitFor(5, TimeUnit.MINUTES);
        kit.destroyForcibly();
        assertThat(ended).as("ended in time: %s", Files.readString(log)).isTrue();
        assertThat(kit.exitValue()).as(Files.readString(log)).isZero();
        assertThat(folder.resolve("report")).isDirectoryContaining("glob:**/report.html");
    }

    @Test
    void theSampleDeclaresItsServiceForBothPaths(@TempDir Path folder) throws Exception {
        final ModuleDescriptor module = ModuleFinder.of(build(folder))
                .find("com.example.buddy")
                .orElseThrow()
                .descriptor();
        assertThat(ServiceFiles.in(RESOURCES)).isNotEmpty().isEqualTo(ServiceFiles.of(module));
    }

    /** Makes the jar of the sample's module, and compiles its test. */
    private static Path build(Path folder) throws IOException {
        final Path jar = folder.resolve("buddy.jar");
        SampleJar.make("buddy", true, UnaryOperator.identity(), modulePath(), folder, jar);
        SampleJar.run(
                "javac",
                "-d",
                folder.resolve("tests"),
                "-cp",
                jar + System.getProperty("path.separator") + classPath(),
                SampleJar.javaFiles(SAMPLE.resolve("src/test")));
        return jar;
    }

    private static String modulePath() {
        return join(Stream.of(RUNNER.resolve("target/lib"), RUNNER_JAR, SUPPORT));
    }

    /** Jar by jar: only the launcher of the compiler expands wildcards. */
    private static String classPath() throws IOException {
        try (Stream<Path> libraries = Files.list(RUNNER.resolve("target/lib"))) {
            return join(Stream.concat(libraries, Stream.of(RUNNER_JAR, SUPPORT)));
        }
    }

    private static String join(Stream<Path> paths) {
        return paths.map(Path::toString).collect(Collectors.joining(System.getProperty("path.separator")));
    }
}
