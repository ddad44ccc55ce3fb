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
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
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
            if (args[0].equals("closes")) {
                closeByTwoThreads();
                closeInARun();
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

        private static void closeByTwoThreads() throws OrtException {
            try (OnnxRuntimeAllocators memory = Sessions.install(new HeapAllocator())) {
                for (int i = 0; i < 200; i++) {
                    final AllocatorSession session = Sessions.open(memory);
                    final CyclicBarrier start = new CyclicBarrier(2);
                    final AtomicReference<Throwable> failure = new AtomicReference<>();
                    final Runnable close = () -> {
                        try {
                            start.await();
                            session.close();
                        } catch (Throwable e) {
                            failure.set(e);
                        }
                    };
                    final Thread other = Thread.ofPlatform().start(close);
                    close.run();
                    while (other.isAlive()) {
                        Thread.onSpinWait();
                    }
                    if (failure.get() != null) {
                        throw new AssertionError(failure.get());
                    }
                }
            }
            System.out.println("closed by two threads");
        }

        /** Another thread closes a session while ONNX Runtime allocates for a run of it. */
        @SuppressWarnings("try") // the other close is what is tested
        private static void closeInARun() throws OrtException {
            final AtomicReference<Runnable> meanwhile = new AtomicReference<>(() -> {});
            final HeapAllocator heap = new HeapAllocator() {
                @Override
                public long alloc(long byteSize) {
                    meanwhile.getAndSet(() -> {}).run();
                    return super.alloc(byteSize);
                }
            };
            final AtomicReference<Throwable> failure = new AtomicReference<>();
            try (OnnxRuntimeAllocators memory = Sessions.install(heap);
                    AllocatorSession session = Sessions.open(memory)) {
                meanwhile.set(() -> {
                    final Thread closing = Thread.ofPlatform().start(() -> {
                        try {
                            session.close();
                        } catch (Throwable e) {
                            failure.set(e);
                        }
                    });
                    while (closing.isAlive()) {
                        Thread.onSpinWait();
                    }
                });
                System.out.println("ran to " + Models.run(session::run, 1, 8, 1).length);
            }
            System.out.println("close in a run: " + failure.get());
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

    private static String run(String how) throws IOException, InterruptedException {
        return OtherProcess.run(OtherProcess.NO_TELEMETRY, OtherProcess.program(Program.class, how));
    }

    @Test
    void aProviderOfTheClassPathServesASession() throws IOException, InterruptedException {
        final String output = run("named");
        assertTrue(output.matches("(?s).*ran 1 in [1-9][0-9]* blocks.*"), output);
        assertTrue(output.contains("failed: no provider is called other; there are ["), output);
        assertTrue(output.contains("cpu-reference"), output);
    }

    @Tag("thorough")
    @Test
    void aCloseFromOtherThreadsEndsNoProcess() throws IOException, InterruptedException {
        final String output = run("closes");
        assertTrue(output.contains("closed by two threads"), output);
        assertTrue(output.matches("(?s).*ran to [1-9].*"), output);
        assertTrue(output.contains("IllegalStateException: the session tiny_bert.onnx runs"), output);
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
