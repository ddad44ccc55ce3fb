package allocator.architecture.tests;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.module.ModuleDescriptor;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The published providers, and a vendor's that builds on {@code java.allocator.cuda.memory}, dropped into a directory
 * with their libraries: the application has the runtime alone, or libraries of its own too.
 */
class DroppedOwnProviderTest {
    @TempDir
    private static Path folder;

    private static Path dropped;

    @BeforeAll
    static void makeDirectory() throws IOException {
        dropped = Files.createDirectory(folder.resolve("dropped"));
        for (final String artifact : List.of(
                "cpu-reference",
                "arena",
                "plan",
                "cuda-arena",
                "cuda-mempool",
                "cuda-memory",
                "cuda-driver",
                "jcuda")) {
            final String jar = "java-allocator-" + artifact + ".jar";
            Files.copy(AllocatorCommand.JARS.resolve(jar), dropped.resolve(jar));
        }
        SampleJar.make(
                ReactorModule.ROOT.resolve("providers/cuda-mempool").toString(),
                true,
                text -> text.replace("allocator.cuda.mempool", "com.example.pool")
                        .replace("java.com.example", "com.example")
                        .replace("\"cuda-mempool\"", "\"example-pool\""),
                AllocatorCommand.JARS.toString(),
                folder.resolve("vendor"),
                dropped.resolve("pool.jar"));
    }

    private static String run(List<Path> application, String... providers) throws IOException, InterruptedException {
        final String separator = System.getProperty("path.separator");
        final List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "--module-path",
                String.join(separator, application.stream().map(Path::toString).toList()),
                "--add-modules=ALL-MODULE-PATH",
                "--enable-native-access=java.allocator.runtime",
                "-cp",
                Path.of("target", "test-classes").toString(),
                DroppedProgram.class.getName(),
                dropped.toString()));
        command.addAll(List.of(providers));
        final Process process =
                new ProcessBuilder(command).redirectErrorStream(true).start();
        final String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(2, TimeUnit.MINUTES)).as(output).isTrue();
        assertThat(process.exitValue()).as(output).isZero();
        return output;
    }

    private static List<Path> jars(String... artifacts) {
        return Stream.of(artifacts)
                .map(artifact -> AllocatorCommand.JARS.resolve("java-allocator-" + artifact + ".jar"))
                .toList();
    }

    @Test
    void theyLoadWithTheirLibrariesBesideTheRuntimeAlone() throws Exception {
        assertThat(run(jars("spi", "provider-support", "runtime"), "cpu-reference"))
                .contains(
                        "cpu-reference loads",
                        "cuda-arena loads",
                        "cuda-mempool loads",
                        "example-pool loads",
                        "cpu-reference serves");
    }

    @Test
    void theyServeASimulatedGpuOverTheDriverOfTheApplication() throws Exception {
        final List<Path> application =
                new ArrayList<>(jars("spi", "provider-support", "runtime", "cuda-driver", "jcuda"));
        application.add(ReactorModule.ROOT.resolve("modules/cuda/simulated/target/classes"));
        assertThat(run(application, "cpu-reference", "cuda-arena", "cuda-mempool", "example-pool"))
                .contains("cpu-reference serves", "cuda-arena serves", "cuda-mempool serves", "example-pool serves");
    }

    @Test
    void qualifiedExportsAreForModulesOfTheKitAndTheCommandAlone() {
        final List<String> names =
                ReactorModule.descriptors().stream().map(ModuleDescriptor::name).toList();
        assertThat(ReactorModule.descriptors().stream()
                        .flatMap(module -> module.exports().stream())
                        .flatMap(exports -> exports.targets().stream())
                        .filter(names::contains))
                .as("a qualified export does not reach a module that a directory of providers adds")
                .containsOnly("java.allocator.conformance.runner", "java.allocator.cli");
    }
}
