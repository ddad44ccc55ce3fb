package allocator.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A user's own project, with the published jars and JUnit only: its tests, which are the samples of
 * {@code docs/testing.md}, run on the simulated GPU on the module path and on the class path.
 */
class SimulatedGpuConsumerTest {
    private static final Path SOURCES = Shipped.ROOT.resolve("modules/cuda/simulated/samples/streams");
    private static final String SEPARATOR = System.getProperty("path.separator");

    /** What the test needs of this project: no testkit, no test classes. */
    private static final Set<String> PUBLISHED = Set.of(
            "java-allocator-spi",
            "java-allocator-provider-support",
            "java-allocator-arena",
            "java-allocator-plan",
            "java-allocator-resource",
            "java-allocator-runtime",
            "java-allocator-jcuda",
            "java-allocator-cuda-driver",
            "java-allocator-cuda-memory",
            "java-allocator-cuda-resource",
            "java-allocator-cuda-simulated",
            "java-allocator-cuda-arena",
            "java-allocator-cuda-mempool");

    private static final Pattern JUNIT =
            Pattern.compile("(junit-(jupiter-(api|engine)|platform-(commons|engine|launcher))|opentest4j|apiguardian|"
                    + "jspecify)[-a-z]*-[0-9.]+\\.jar");

    @TempDir
    private static Path folder;

    private static String jars;

    @BeforeAll
    static void makeJars() throws IOException {
        final Path lib = Files.createDirectory(folder.resolve("lib"));
        for (final Path jar : Shipped.get().jars) {
            if (PUBLISHED.contains(jar.getFileName().toString().replace(".jar", ""))) {
                Files.copy(jar, lib.resolve(jar.getFileName()));
            }
        }
        assertThat(listed(lib, file -> true)).hasSameSizeAs(PUBLISHED);
        for (final String element : System.getProperty("java.class.path").split(SEPARATOR, -1)) {
            final Path jar = Path.of(element);
            if (JUNIT.matcher(jar.getFileName().toString()).matches()) {
                Files.copy(jar, lib.resolve(jar.getFileName()));
            }
        }
        jars = listed(lib, file -> true).stream().map(Path::toString).collect(Collectors.joining(SEPARATOR));
    }

    private static List<Path> listed(Path below, Predicate<Path> isWanted) throws IOException {
        try (Stream<Path> files = Files.walk(below)) {
            return files.filter(Files::isRegularFile).filter(isWanted).sorted().toList();
        }
    }

    private static String run(List<String> arguments) throws IOException, InterruptedException {
        final List<String> options = new ArrayList<>(List.of("--illegal-native-access=deny"));
        options.addAll(arguments);
        final Started started = Started.java(options);
        assertThat(started.code()).as(started.output()).isZero();
        return started.output();
    }

    @Test
    void testsRunOnTheModulePath() throws Exception {
        final Path classes = folder.resolve("module");
        Shipped.run(
                "javac",
                "-d",
                classes,
                "-p",
                jars,
                listed(SOURCES, file -> file.toString().endsWith(".java")));
        assertPassed(
                "module com.example.streams",
                run(List.of(
                        "--enable-native-access=jcuda,java.allocator.cuda.driver,java.allocator.cuda.simulated",
                        "-p",
                        classes + SEPARATOR + jars,
                        "-m",
                        "com.example.streams/com.example.streams.RunTests")));
    }

    @Test
    void testsRunOnTheClassPath() throws Exception {
        final Path classes = folder.resolve("classes");
        Shipped.run(
                "javac",
                "-d",
                classes,
                "-cp",
                jars,
                listed(SOURCES, file -> file.toString().endsWith(".java") && !file.endsWith("module-info.java")));
        assertPassed(
                "unnamed module",
                run(List.of(
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        classes + SEPARATOR + jars,
                        "com.example.streams.RunTests")));
    }

    private static void assertPassed(String module, String output) throws IOException {
        assertThat(output).containsPattern(module + ".*: 6 of 6 succeeded");
        final String message = output.lines()
                .filter(line -> line.startsWith("reuse in flight"))
                .findFirst()
                .orElseThrow();
        assertThat(message).contains("(at com.example.streams.Rows.copyTwiceInARace(Rows.java:");
        assertThat(normal(Files.readString(Shipped.ROOT.resolve("docs/testing.md"))))
                .as(output)
                .contains(normal(message));
    }

    /** Without line breaks, ids and addresses. */
    private static String normal(String text) {
        return text.replaceAll("\\s+", " ").replaceAll("0x[0-9a-f]+", "0x0").replaceAll("stream \\d+", "stream 0");
    }

    /** Which of two providers serves a GPU is the same wherever they were found. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void theProviderThatServesADeviceIsTheSameOnBothPaths(boolean isOnModulePath) throws Exception {
        final Path source = Files.createDirectory(folder.resolve("source-" + isOnModulePath))
                .resolve("Serving.java");
        Files.writeString(source, """
                import allocator.cuda.driver.CudaDrivers;
                import allocator.cuda.simulated.SimulatedCudaDriver;
                import allocator.runtime.Environment;
                import allocator.runtime.EnvironmentBuilder;
                import allocator.runtime.Session;
                import allocator.runtime.SessionOptions;

                class Serving {
                    public static void main(String[] args) {
                        System.out.println("providers of " + SimulatedCudaDriver.class.getModule());
                        try (SimulatedCudaDriver gpu = SimulatedCudaDriver.builder().build();
                                CudaDrivers.Substitution place = gpu.substitute()) {
                            show("by name", Environment.builder(), SessionOptions.builder());
                            show("by option",
                                    Environment.builder().option("environment.provider_order", "cuda-mempool"),
                                    SessionOptions.builder());
                            show("by the session", Environment.builder(), SessionOptions.builder().provider("cuda-mempool"));
                        }
                    }

                    private static void show(String how, EnvironmentBuilder builder, SessionOptions.Builder options) {
                        try (Environment environment = builder.build();
                                Session session = environment.openSession(options.build())) {
                            System.out.println(how + ": " + session.devices().getFirst().provider() + ", "
                                    + session.allocator().report().provider() + "'s allocator");
                        }
                    }
                }
                """);
        final Path classes = folder.resolve("serving-" + isOnModulePath);
        Shipped.run("javac", "-d", classes, "-cp", jars, List.of(source));
        final String output = isOnModulePath
                ? run(List.of(
                        "--enable-native-access=jcuda,java.allocator.cuda.driver,java.allocator.cuda.simulated",
                        "--add-modules=ALL-MODULE-PATH",
                        "-p",
                        jars,
                        "-cp",
                        classes.toString(),
                        "Serving"))
                : run(List.of("--enable-native-access=ALL-UNNAMED", "-cp", classes + SEPARATOR + jars, "Serving"));
        assertThat(output)
                .contains(isOnModulePath ? "module java.allocator.cuda.simulated" : "unnamed module")
                .contains("by name: cuda-arena, cuda-arena's allocator")
                .contains("by option: cuda-mempool, cuda-mempool's allocator")
                .contains("by the session: cuda-mempool, cuda-mempool's allocator");
    }

    /** The jar alone changes nothing: a program that does not ask for the simulated device does not get it. */
    @Test
    void nothingIsSimulatedUnlessATestAsks() throws Exception {
        final Path source = folder.resolve("Plain.java");
        Files.writeString(source, """
                import allocator.cuda.driver.CudaDrivers;

                class Plain {
                    public static void main(String[] args) {
                        System.out.println(CudaDrivers.probe());
                    }
                }
                """);
        assertThat(run(List.of("--enable-native-access=ALL-UNNAMED", "-cp", jars, source.toString())))
                .doesNotContain("imulated");
    }
}
