package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession.SessionOptions;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How a process ends that has left things open, or that cannot have ONNX Runtime: never with a crash. */
class ProcessEndTest {
    /** What runs in the other process. */
    public static final class Program {
        private Program() {}

        /** Does what the argument says. */
        public static void main(String[] args) throws OrtException {
            if (args[0].equals("provider")) {
                useProvider();
                return;
            }
            if (args[0].equals("named")) {
                useNamed();
                return;
            }
            final OrtEnvironment environment;
            try {
                OnnxRuntimeLibrary.version();
                environment = OrtEnvironment.getEnvironment();
            } catch (OnnxRuntimeException e) {
                System.out.println("failed: " + e.getMessage());
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

        private static void useNamed() throws OrtException {
            final OrtEnvironment environment = OrtEnvironment.getEnvironment();
            try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(environment)
                            .provider("cpu-reference")
                            .install();
                    AllocatorSession session = memory.openSession(
                            Models.TINY_BERT, "tiny_bert.onnx", new SessionOptions(), SessionSettings.DEFAULT);
                    var result = session.run(Models.inputs(1, 8, 1))) {
                System.out.println(
                        "ran " + result.size() + " in " + memory.stats().numAllocs() + " blocks");
            }
            try {
                OnnxRuntimeAllocators.on(environment).provider("other").install();
            } catch (IllegalArgumentException e) {
                System.out.println("failed: " + e.getMessage());
            }
        }

        private static void useProvider() {
            try (OnnxRuntimeFactory factory = new OnnxRuntimeFactory()) {
                final Allocator allocator = factory.createAllocator(NativeEnvironment.CPU, AllocatorOptions.EMPTY);
                final long block = allocator.alloc(1000);
                System.out.println("has " + allocator.stats().maxAllocSize() / 1000 * 1000 + " bytes");
                allocator.free(block);
                factory.releaseAllocator(allocator);
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"return, ''", "exit, ''", "halt, ''", "environment, ''", "return, -Donnxruntime.native.path=/nowhere"})
    void aProcessThatLeavesEverythingOpenEndsWell(String how, String option) throws IOException, InterruptedException {
        final List<String> command = new ArrayList<>(List.of("--enable-native-access=ALL-UNNAMED"));
        if (!option.isEmpty()) {
            command.add(option);
        }
        command.addAll(List.of("-cp", OtherProcess.path(), Program.class.getName(), how));
        final String output = OtherProcess.run(OtherProcess.NO_TELEMETRY, command);
        assertTrue(output.contains(option.isEmpty() ? "ran 1" : "failed: the Java binding"), output);
    }

    @Test
    void aProviderOfTheClassPathServesASession() throws IOException, InterruptedException {
        final String output = OtherProcess.run(
                OtherProcess.NO_TELEMETRY,
                List.of(
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        OtherProcess.path(),
                        Program.class.getName(),
                        "named"));
        assertTrue(output.matches("(?s).*ran 1 in [1-9][0-9]* blocks.*"), output);
        assertTrue(output.contains("failed: no provider is called other; there are ["), output);
        assertTrue(output.contains("cpu-reference"), output);
    }

    /**
     * ONNX Runtime 1.29 searches the command line with an expression that takes a frame of stack for each character.
     */
    @Test
    void aLongCommandLineEndsNoProcess() throws IOException, InterruptedException {
        final String path = OtherProcess.path() + File.pathSeparator + "/" + "x".repeat(8000);
        final String output = OtherProcess.run(
                Map.of(),
                List.of("--enable-native-access=ALL-UNNAMED", "-cp", path, Program.class.getName(), "provider"));
        assertTrue(output.contains("has 1000 bytes"), output);
    }
}
