package allocator.architecture.tests;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The sample of a third-party provider builds against our jars alone, and passes the kit in a JVM of its own. */
class SampleProviderTest {
    private static final Path RUNNER = ReactorModule.ROOT.resolve("modules/conformance/runner");
    private static final Path RUNNER_JAR = RUNNER.resolve("target/java-allocator-conformance-runner.jar");
    private static final Path SUPPORT =
            ReactorModule.ROOT.resolve("modules/provider-support/target/java-allocator-provider-support.jar");
    private static final Path SAMPLE = ReactorModule.ROOT.resolve("modules/conformance/kit/samples/buddy");
    private static final Path RESOURCES = SAMPLE.resolve("src/main/resources");

    @Test
    void theSampleBuildsAndConforms(@TempDir Path folder) throws Exception {
        final Path jar = build(folder);
        final Path log = folder.resolve("log");
        final Process kit = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
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

    /** Compiles the sample's module, with its test as well, and puts the module into a jar. */
    private static Path build(Path folder) throws IOException {
        final Path classes = folder.resolve("classes");
        run("javac", "-d", classes, "-p", modulePath(), sources("src/main"));
        run(
                "javac",
                "-d",
                folder.resolve("tests"),
                "-cp",
                classes + System.getProperty("path.separator") + classPath(),
                sources("src/test"));
        final Path jar = folder.resolve("buddy.jar");
        run("jar", "--create", "--file", jar, "-C", classes, ".", "-C", RESOURCES, ".");
        return jar;
    }

    private static void run(String tool, Object... arguments) {
        final List<String> texts = new ArrayList<>();
        for (final Object argument : arguments) {
            if (argument instanceof List<?> several) {
                several.forEach(one -> texts.add(one.toString()));
            } else {
                texts.add(argument.toString());
            }
        }
        final StringWriter output = new StringWriter();
        final int code = ToolProvider.findFirst(tool)
                .orElseThrow()
                .run(new PrintWriter(output), new PrintWriter(output), texts.toArray(String[]::new));
        assertThat(code).as("%s: %s", tool, output).isZero();
    }

    private static List<Path> sources(String folder) throws IOException {
        try (Stream<Path> files = Files.walk(SAMPLE.resolve(folder))) {
            return files.filter(file -> file.toString().endsWith(".java")).toList();
        }
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
