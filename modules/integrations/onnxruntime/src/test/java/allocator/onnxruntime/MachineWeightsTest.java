package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import allocator.provider.support.platform.OperatingSystem;
import allocator.provider.support.platform.Platform;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.InspectableAllocator;
import allocator.spi.InvalidOptionException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** JVMs with sessions of one model and {@code memory.share_weights=machine}. */
class MachineWeightsTest {
    @TempDir
    private Path folder;

    private Path model;
    private final List<Jvm> jvms = new ArrayList<>();

    /** Another process, which does what it is asked by a line and prints a line then. */
    private final class Jvm {
        private final Process process;
        private final PrintStream questions;
        private final BufferedReader replies;

        Jvm() throws IOException {
            process = OtherProcess.start(
                    OtherProcess.NO_TELEMETRY, OtherProcess.program(Program.class, model.toString()));
            questions = new PrintStream(process.getOutputStream(), true, StandardCharsets.UTF_8);
            replies = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
            jvms.add(this);
        }

        void begin(String question) {
            questions.println(question);
        }

        String reply() throws IOException {
            final StringBuilder other = new StringBuilder();
            for (String line = replies.readLine(); line != null; line = replies.readLine()) {
                if (line.startsWith("> ")) {
                    return line.substring(2);
                }
                other.append(line).append('\n');
            }
            throw new AssertionError("the process has ended: " + other);
        }

        /** Has it do all that is asked, and returns the last reply. */
        String ask(String... all) throws IOException {
            String last = "";
            for (final String question : all) {
                begin(question);
                last = reply();
            }
            return last;
        }

        void kill() throws InterruptedException {
            process.destroyForcibly();
            assertTrue(process.waitFor(1, TimeUnit.MINUTES));
        }

        void end() throws IOException, InterruptedException {
            assertEquals("closed", ask("end"));
            assertEquals("ended", reply());
            assertTrue(process.waitFor(1, TimeUnit.MINUTES));
        }
    }

    /** What runs in the other processes. */
    public static final class Program {
        private static final List<AllocatorSession> SESSIONS = new ArrayList<>();

        private Program() {}

        /** Does what each line says, for the model in a file. */
        public static void main(String[] args) throws IOException, OrtException {
            final BufferedReader questions =
                    new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            try (OnnxRuntimeAllocators memory = install()) {
                for (String line = questions.readLine(); line != null; line = questions.readLine()) {
                    System.out.println("> " + reply(memory, line, Path.of(args[0])));
                }
            } finally {
                System.out.println("> ended");
            }
        }

        private static Object reply(OnnxRuntimeAllocators memory, String line, Path model)
                throws IOException, OrtException {
            switch (line) {
                case "open" -> SESSIONS.add(memory.openSession(model));
                case "open and close" -> memory.openSession(model).close();
                case "run" -> {
                    return Arrays.hashCode(SmallModels.runDeep(SESSIONS.getFirst()::run, 1));
                }
                case "write" -> write(memory);
                case "files" -> {
                    return files();
                }
                case "obstacle" -> {
                    return memory.memories().getFirst().sharingObstacle().orElse("none");
                }
                default -> {
                    for (final AllocatorSession session : SESSIONS) {
                        session.close();
                    }
                    SESSIONS.clear();
                    memory.close();
                    System.in.close();
                    return "closed";
                }
            }
            return memory.memories().getFirst().bytesShared();
        }

        @SuppressWarnings("restricted") // blocks of the test's installation
        private static void write(OnnxRuntimeAllocators memory) {
            for (final Chunk block : memory.allocator()
                    .as(InspectableAllocator.class)
                    .orElseThrow()
                    .inspect()
                    .blocks()) {
                if (block.requestedBytes() > 1 << 20) {
                    MemorySegment.ofAddress(block.address())
                            .reinterpret(block.requestedBytes())
                            .fill((byte) 0);
                }
            }
        }

        /** Returns the numbers of the files of memory that are mapped. */
        private static List<String> files() throws IOException {
            try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
                return lines.filter(line -> line.contains("memfd:java.allocator"))
                        .map(line -> line.split(" +", -1)[4])
                        .distinct()
                        .toList();
            }
        }
    }

    private static OnnxRuntimeAllocators install() {
        return OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                .provider("cpu-reference")
                .option(OnnxRuntimeAllocators.SHARE_WEIGHTS, "machine")
                .install();
    }

    @BeforeEach
    void writeModel() throws IOException {
        assumeTrue(
                Platform.current().system() == OperatingSystem.LINUX && Files.isWritable(Path.of("/dev/shm")),
                "processes share weights on Linux only");
        // Not that of another test on this machine.
        model = Files.write(folder.resolve("deep.onnx"), SmallModels.deep(1, System.nanoTime()));
    }

    @AfterEach
    void endAll() throws InterruptedException {
        for (final Jvm jvm : jvms) {
            jvm.kill();
        }
    }

    /** Returns the output of a session with weights of its own. */
    private String expected() throws OrtException {
        try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                        .provider("cpu-reference")
                        .install();
                AllocatorSession session = memory.openSession(model)) {
            return Integer.toString(Arrays.hashCode(SmallModels.runDeep(session::run, 1)));
        }
    }

    /** Returns the links to descriptors of the processes. */
    private List<String> links() throws IOException {
        final List<String> links = new ArrayList<>();
        try (Stream<Path> all = Files.find(
                Path.of("/dev/shm"),
                2,
                (path, attributes) ->
                        attributes.isSymbolicLink() && path.toString().startsWith("/dev/shm/java.allocator-"))) {
            for (final Path link : all.toList()) {
                links.add(Files.readSymbolicLink(link).toString());
            }
        }
        links.removeIf(link -> jvms.stream().noneMatch(jvm -> link.startsWith("/proc/" + jvm.process.pid() + "/")));
        return links;
    }

    @Test
    void processesHaveOneCopyWhicheverIsKilled() throws Exception {
        final Jvm first = new Jvm();
        final Jvm second = new Jvm();
        final String expected = expected();
        first.begin("open"); // both at the same time
        second.begin("open");
        assertEquals("0", first.reply());
        assertEquals("0", second.reply());
        assertEquals("none", first.ask("obstacle"));
        final String files = first.ask("files");
        assertEquals(files, second.ask("files"));
        assertEquals(1, files.split(",", -1).length, files);
        assertEquals(expected, first.ask("run"));
        assertEquals(expected, second.ask("run"));

        assertNotEquals(expected, first.ask("write", "run"));
        assertEquals(expected, second.ask("run"));
        final boolean isOfFirst = links().getFirst().startsWith("/proc/" + first.process.pid() + "/");
        final Jvm killed = isOfFirst ? first : second;
        final Jvm left = isOfFirst ? second : first;
        killed.kill();
        assertNotEquals("0", left.ask("open"));
        final Jvm third = new Jvm();
        assertEquals(expected, third.ask("open", "run"));
        assertEquals(files, third.ask("files"));
        left.kill();
        assertEquals(expected, third.ask("open", "run"));
        third.end();
        assertEquals(List.of(), links());
    }

    @Test
    void aProcessThatIsKilledWhileItOpensLeavesOthersRight() throws Exception {
        final Jvm first = new Jvm();
        final Jvm second = new Jvm();
        final String expected = expected();
        first.begin("open and close");
        second.begin("open");
        for (int i = 0; i < 20; i++) {
            first.begin("open and close");
        }
        first.reply();
        second.reply();
        Thread.sleep(System.nanoTime() % 50);
        first.kill();
        assertEquals(expected, second.ask("open", "run"));
        final Jvm third = new Jvm();
        assertEquals(expected, third.ask("open", "run"));
        second.end();
        third.end();
        assertEquals(List.of(), links());
    }

    @Test
    void theValueIsForMemoryOfTheProcessorByAProviderThatKnowsIt() {
        final var builder = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                .provider("onnxruntime")
                .option(OnnxRuntimeAllocators.SHARE_WEIGHTS, "machine");
        assertThrows(InvalidOptionException.class, builder::install);
        builder.option(OnnxRuntimeAllocators.SHARE_WEIGHTS, "1").install().close();
    }
}
