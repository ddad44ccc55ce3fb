package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession.SessionOptions;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How a process ends that has left things open, or that cannot have ONNX Runtime: never with a crash. */
class ProcessEndTest {
    /** What runs in the other process. */
    public static final class Program {
        private Program() {}

        /** Does what the argument says. */
        public static void main(String[] args) throws OrtException {
            final OrtEnvironment environment;
            try {
                OnnxRuntimeLibrary.version();
                environment = OrtEnvironment.getEnvironment();
            } catch (OnnxRuntimeException e) {
                System.out.println("refused: " + e.getMessage());
                return;
            }
            final OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(environment)
                    .allocator(new HeapAllocator())
                    .install();
            final AllocatorSession session = memory.openSession(
                    Models.TINY_BERT, "tiny_bert.onnx", new SessionOptions(), SessionSettings.DEFAULT);
            final var result = session.run(Models.inputs(1, 8, 1));
            System.out.println("ran " + result.size());
            if (args[0].equals("exit")) {
                System.exit(0);
            } else if (args[0].equals("halt")) {
                Runtime.getRuntime().halt(0);
            } else if (args[0].equals("environment")) {
                environment.close();
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"return, ''", "exit, ''", "halt, ''", "environment, ''", "return, -Donnxruntime.native.path=/nowhere"})
    void aProcessThatLeavesEverythingOpenEndsWell(String how, String option) throws IOException, InterruptedException {
        final List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add("--enable-native-access=ALL-UNNAMED");
        command.add("-XX:ErrorFile=/dev/null");
        if (!option.isEmpty()) {
            command.add(option);
        }
        command.add("-cp");
        command.add(String.join(System.getProperty("path.separator"), paths()));
        command.add(Program.class.getName());
        command.add(how);
        final Process process =
                new ProcessBuilder(command).redirectErrorStream(true).start();
        final String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertTrue(process.waitFor(5, TimeUnit.MINUTES), output);
        assertEquals(0, process.exitValue(), output);
        assertTrue(output.contains(option.isEmpty() ? "ran 1" : "refused: the Java binding"), output);
    }

    /** The modules and classes of this test, as a class path. */
    private static List<String> paths() {
        final List<String> paths = new ArrayList<>();
        for (final String property : List.of("jdk.module.path", "java.class.path", "surefire.test.class.path")) {
            final String value = System.getProperty(property);
            if (value != null) {
                paths.add(value);
            }
        }
        paths.add(Path.of("target", "test-classes").toString());
        return paths;
    }
}
