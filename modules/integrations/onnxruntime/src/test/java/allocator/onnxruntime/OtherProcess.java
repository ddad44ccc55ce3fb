package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import allocator.testkit.OwnJvm;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** Java in another process. */
final class OtherProcess {
    /** Keeps ONNX Runtime from looking at the process for reports to its maker. */
    static final Map<String, String> NO_TELEMETRY = Map.of("ORT_DISABLE_TELEMETRY", "1");

    private OtherProcess() {}

    /**
     * Runs the same Java, requires that it ends well, and returns all that it printed.
     *
     * @param environment variables that it sees, beside those of this process
     */
    static String run(Map<String, String> environment, List<String> arguments)
            throws IOException, InterruptedException {
        final Process process = start(environment, arguments);
        final String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertTrue(process.waitFor(5, TimeUnit.MINUTES), output);
        assertEquals(0, process.exitValue(), output);
        return output;
    }

    /** Starts the same Java, to be ended by the caller. */
    static Process start(Map<String, String> environment, List<String> arguments) throws IOException {
        final List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(OwnJvm.QUICK);
        command.add("-XX:ErrorFile=/dev/null");
        command.addAll(arguments);
        final ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().keySet().removeAll(NO_TELEMETRY.keySet());
        builder.environment().putAll(environment);
        return builder.start();
    }

    /** Returns the arguments of Java that run a program on the class path of this test. */
    static List<String> program(Class<?> program, String... arguments) {
        final List<String> all =
                new ArrayList<>(List.of("--enable-native-access=ALL-UNNAMED", "-cp", path(), program.getName()));
        all.addAll(List.of(arguments));
        return all;
    }

    /** The modules and classes of this test, as a path of classes or of modules. */
    static String path() {
        final Set<String> paths = new LinkedHashSet<>();
        for (final String property : List.of("jdk.module.path", "java.class.path", "surefire.test.class.path")) {
            final String value = System.getProperty(property);
            if (value != null) {
                paths.addAll(List.of(value.split(File.pathSeparator, -1)));
            }
        }
        paths.add(Path.of("target", "test-classes").toString());
        return String.join(File.pathSeparator, paths);
    }
}
