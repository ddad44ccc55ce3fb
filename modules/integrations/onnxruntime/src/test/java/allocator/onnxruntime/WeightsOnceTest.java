package allocator.onnxruntime;

import static allocator.onnxruntime.support.Protobuf.field;
import static allocator.onnxruntime.support.Protobuf.message;
import static allocator.onnxruntime.support.Protobuf.number;
import static allocator.onnxruntime.support.Protobuf.text;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What many sessions of one model take, with a copy of the weights each and with one: {@code weights-once.md}. */
@Tag("thorough")
class WeightsOnceTest {
    private static final int SESSIONS = 200;
    private static final int ROUNDS = 24;

    /** Of the matrices of the largest model. */
    private static final int LENGTH = 8192;

    private static final double MIB = 1 << 20;
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    @TempDir
    private static Path folder;

    @BeforeEach
    void requireLinux() {
        assumeTrue(Files.isReadable(Path.of("/proc/self/smaps_rollup")), "weights are shared on Linux only");
    }

    private static OnnxRuntimeAllocators install(boolean isSharing) {
        return install(isSharing ? "1" : "0");
    }

    private static OnnxRuntimeAllocators install(String sharing) {
        return OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                .provider("cpu-reference")
                .option(OnnxRuntimeAllocators.SHARE_WEIGHTS, sharing)
                .install();
    }

    private static AllocatorSession open(OnnxRuntimeAllocators memory, Path model, boolean packs) throws OrtException {
        try (SessionOptions options = new SessionOptions()) {
            options.setIntraOpNumThreads(1);
            options.addConfigEntry("session.disable_prepacking", packs ? "0" : "1");
            return memory.openSession(model, options, SessionSettings.DEFAULT);
        }
    }

    private static Path model(String name) throws IOException {
        final byte[] bytes = name.equals("squeezenet") ? SqueezeNet.bytes() : Models.TINY_BERT;
        return Files.write(folder.resolve(name + ".onnx"), bytes);
    }

    private static Map<String, OnnxTensor> inputs(String name) throws OrtException {
        if (name.equals("tiny_bert")) {
            return Models.inputs(1, 64, 1);
        }
        final OrtEnvironment environment = OrtEnvironment.getEnvironment();
        if (name.equals("gibibyte")) {
            return Map.of("x", OnnxTensor.createTensor(environment, new float[][] {counting(LENGTH)}));
        }
        if (name.equals("quarter")) {
            return Map.of("x", OnnxTensor.createTensor(environment, new float[][] {counting(LENGTH / 2)}));
        }
        final float[] image = counting(3 * 64 * 64);
        return Map.of(
                "image", OnnxTensor.createTensor(environment, FloatBuffer.wrap(image), new long[] {1, 3, 64, 64}));
    }

    private static float[] counting(int length) {
        final float[] values = new float[length];
        for (int i = 0; i < length; i++) {
            values[i] = i % 7;
        }
        return values;
    }

    /** The resident bytes of the process; pages that are mapped more than once count once. */
    private static long proportional() throws IOException {
        System.gc();
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/smaps_rollup"))) {
            return lines.filter(line -> line.startsWith("Pss:"))
                            .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
                            .sum()
                    << 10;
        }
    }

    private static int output(AllocatorSession session, Map<String, OnnxTensor> inputs) throws OrtException {
        try (OrtSession.Result result = session.run(inputs)) {
            final ByteBuffer bytes = ((OnnxTensor) result.get(0)).getByteBuffer();
            return bytes.hashCode();
        }
    }

    /** What sessions of a model take after a run each, in bytes. */
    private record Taken(long held, long saved, long resident) {
        /** Measures in a process of its own, as the C library keeps memory for the next sessions of one process. */
        static Taken by(Path model, int count, boolean isSharing, boolean packs)
                throws IOException, InterruptedException {
            final String printed = OtherProcess.run(
                    OtherProcess.NO_TELEMETRY,
                    OtherProcess.program(
                            Program.class,
                            model.toString(),
                            Integer.toString(count),
                            Boolean.toString(isSharing),
                            Boolean.toString(packs)));
            final long[] figures = Stream.of(
                            printed.strip().lines().toList().getLast().split(" ", -1))
                    .mapToLong(Long::parseLong)
                    .toArray();
            final Taken taken = new Taken(figures[0], figures[1], figures[2]);
            System.out.printf(
                    "| %s | %s | %d | %s | %.1f | %.1f | %.1f |%n",
                    name(model),
                    packs ? "yes" : "no",
                    count,
                    isSharing ? "one" : "each",
                    taken.held / MIB,
                    taken.saved / MIB,
                    taken.resident / MIB);
            return taken;
        }
    }

    private static String name(Path model) {
        return String.valueOf(model.getFileName()).replace(".onnx", "");
    }

    /** What runs in the other process. */
    public static final class Program {
        private Program() {}

        /** Opens so many sessions of a model and prints what they take. */
        public static void main(String[] args) throws OrtException, IOException {
            final Path model = Path.of(args[0]);
            final Map<String, OnnxTensor> inputs = inputs(name(model));
            try (OnnxRuntimeAllocators memory = install(Boolean.parseBoolean(args[2]))) {
                final long before = proportional();
                final List<AllocatorSession> sessions = new ArrayList<>();
                int expected = 0;
                for (int i = 0; i < Integer.parseInt(args[1]); i++) {
                    sessions.add(open(memory, model, Boolean.parseBoolean(args[3])));
                    final int output = output(sessions.getLast(), inputs);
                    expected = i == 0 ? output : expected;
                    assertEquals(expected, output);
                }
                memory.shrink();
                final long saved = memory.memories().getFirst().bytesShared();
                System.out.println(memory.stats().bytesHeld() + " " + saved + " " + (proportional() - before));
                for (final AllocatorSession session : sessions) {
                    session.close();
                }
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"tiny_bert, true", "squeezenet, true", "squeezenet, false"})
    void manySessionsHoldOneCopy(String name, boolean packs) throws IOException, InterruptedException {
        final Path model = model(name);
        final Taken one = Taken.by(model, 1, true, packs);
        final Taken each = Taken.by(model, SESSIONS, false, packs);
        final Taken once = Taken.by(model, SESSIONS, true, packs);
        // The blocks below 64 KiB are not shared.
        assertTrue(once.held() <= 1.3 * one.held() + SESSIONS * 20_000L, once + " of " + one);
        assertTrue(!name.equals("tiny_bert") || once.resident() < 0.7 * each.resident(), once + " of " + each);
    }

    /** Four matrices of 256 MiB, one after the other. */
    @Test
    void eightSessionsOfAGibibyteHoldOneCopy() throws IOException, InterruptedException {
        final Path model = folder.resolve("gibibyte.onnx");
        writeMatrices(model, 4, LENGTH);
        final Taken one = Taken.by(model, 1, true, true);
        Taken.by(model, 8, false, true);
        final Taken eight = Taken.by(model, 8, true, true);
        assertTrue(eight.held() <= 1.05 * one.held(), eight + " of " + one);
        assertTrue(eight.resident() <= 1.05 * one.resident(), eight + " of " + one);
    }

    /** What runs in several other processes at a time. */
    public static final class Server {
        private Server() {}

        /**
         * Opens a session of a model after the first byte that it reads, prints what it takes, and ends after others.
         */
        public static void main(String[] args) throws OrtException, IOException {
            final Path model = Path.of(args[0]);
            final Map<String, OnnxTensor> inputs = inputs(name(model));
            try (OnnxRuntimeAllocators memory = install(args[1])) {
                final long before = proportional();
                require(System.in.read());
                final long start = THREADS.getCurrentThreadCpuTime();
                try (AllocatorSession session = open(memory, model, true)) {
                    final long cpu = THREADS.getCurrentThreadCpuTime() - start;
                    System.out.println(output(session, inputs) + " " + cpu);
                    require(System.in.read());
                    System.out.println(proportional() - before);
                    require(System.in.read());
                }
            }
        }

        private static void require(int read) {
            assertTrue(read >= 0, "the other process has ended");
        }
    }

    private static String ask(Process process, BufferedReader output) throws IOException {
        process.getOutputStream().write('\n');
        process.getOutputStream().flush();
        return output.readLine();
    }

    /** Three processes with a session each of four matrices of 64 MiB. */
    @ParameterizedTest
    @ValueSource(strings = {"0", "1", "machine"})
    void processesOfOneModel(String sharing) throws IOException, InterruptedException {
        final Path model = folder.resolve("quarter.onnx");
        writeMatrices(model, 4, LENGTH / 2);
        final List<Process> processes = new ArrayList<>();
        final List<BufferedReader> outputs = new ArrayList<>();
        final List<String> opened = new ArrayList<>();
        final List<Long> millis = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            processes.add(OtherProcess.start(
                    OtherProcess.NO_TELEMETRY, OtherProcess.program(Server.class, model.toString(), sharing)));
            outputs.add(processes.get(i).inputReader());
            final String[] reply = ask(processes.get(i), outputs.get(i)).split(" ", -1);
            opened.add(reply[0]);
            millis.add(Long.parseLong(reply[1]) / 1_000_000);
        }
        long taken = 0;
        for (int i = 0; i < 3; i++) {
            taken += Long.parseLong(ask(processes.get(i), outputs.get(i)));
        }
        System.out.printf("| %s | %.1f | %s |%n", sharing, taken / MIB, millis);
        for (int i = 0; i < 3; i++) {
            assertEquals(null, ask(processes.get(i), outputs.get(i)));
            assertEquals(0, processes.get(i).waitFor());
            assertEquals(opened.getFirst(), opened.get(i));
        }
        assertTrue(!sharing.equals("machine") || taken < 1.5 * (256 << 20), taken + " bytes");
    }

    /** Processor time of an opening and of a run, of sessions with and without sharing in turn. */
    @ParameterizedTest
    @CsvSource({"tiny_bert, true", "squeezenet, true", "squeezenet, false"})
    void openingsAndRunsTakeAsLong(String name, boolean packs) throws OrtException, IOException {
        final Path model = model(name);
        final double[][] openings = new double[2][ROUNDS];
        final double[][] runs = new double[2][ROUNDS];
        for (int round = -2; round < ROUNDS; round++) {
            for (int sharing = 0; sharing < 2; sharing++) {
                final Map<String, OnnxTensor> inputs = inputs(name);
                try (OnnxRuntimeAllocators memory = install(sharing == 1);
                        AllocatorSession first = open(memory, model, packs)) {
                    output(first, inputs);
                    final List<AllocatorSession> sessions = new ArrayList<>();
                    final long start = THREADS.getCurrentThreadCpuTime();
                    for (int i = 0; i < 10; i++) {
                        sessions.add(open(memory, model, packs));
                    }
                    final long opened = THREADS.getCurrentThreadCpuTime();
                    for (final AllocatorSession session : sessions) {
                        output(session, inputs);
                    }
                    final long begun = THREADS.getCurrentThreadCpuTime();
                    for (int i = 0; i < 400; i++) {
                        output(sessions.get(i % 10), inputs);
                    }
                    final long ended = THREADS.getCurrentThreadCpuTime();
                    if (round >= 0) {
                        openings[sharing][round] = (opened - start) / 10e6;
                        runs[sharing][round] = (ended - begun) / 400e6;
                    }
                    for (final AllocatorSession session : sessions) {
                        session.close();
                    }
                    assertEquals(0, memory.memories().getFirst().bytesShared());
                } finally {
                    inputs.values().forEach(OnnxTensor::close);
                }
            }
        }
        System.out.printf(
                "| %s | %s | %.2f | %.2f | %.3f | %.4f | %.4f | %.3f |%n",
                name,
                packs ? "yes" : "no",
                median(openings[0]),
                median(openings[1]),
                ratio(openings),
                median(runs[0]),
                median(runs[1]),
                ratio(runs));
    }

    private static double median(double[] values) {
        final double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    /** The median of the ratios of neighbours. */
    private static double ratio(double[][] pairs) {
        final double[] ratios = new double[pairs[0].length];
        Arrays.setAll(ratios, i -> pairs[1][i] / pairs[0][i]);
        return median(ratios);
    }

    /** Writes {@code y = x w0 w1 ...} with random square matrices. */
    private static void writeMatrices(Path file, int count, int length) throws IOException {
        final byte[][] tensors = new byte[count][];
        final byte[][] nodes = new byte[count][];
        final int byteSize = length * length * Float.BYTES;
        long graphBytes = 0;
        for (int i = 0; i < count; i++) {
            final byte[] head = message(
                    number(1, length),
                    number(1, length),
                    number(2, 1),
                    text(8, "w" + i),
                    varint(9 << 3 | 2),
                    varint(byteSize));
            tensors[i] = message(varint(5 << 3 | 2), varint(head.length + (long) byteSize), head);
            nodes[i] = field(
                    1,
                    message(
                            text(1, i == 0 ? "x" : "y" + (i - 1)),
                            text(1, "w" + i),
                            text(2, i == count - 1 ? "y" : "y" + i),
                            text(4, "MatMul")));
            graphBytes += tensors[i].length + (long) byteSize + nodes[i].length;
        }
        final byte[] ends = message(text(2, "matrices"), field(11, value("x", length)), field(12, value("y", length)));
        final SplittableRandom random = new SplittableRandom(5);
        try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(file), 1 << 20)) {
            out.write(message(
                    number(1, 8), field(8, number(2, 13)), varint(7 << 3 | 2), varint(graphBytes + ends.length)));
            out.write(message(nodes));
            final ByteBuffer row = ByteBuffer.allocate(length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
            for (final byte[] tensor : tensors) {
                out.write(tensor);
                for (int i = 0; i < length; i++) {
                    for (int j = 0; j < length; j++) {
                        row.putFloat(j * Float.BYTES, ((int) random.nextLong() >> 8) * 0x1p-30f);
                    }
                    out.write(row.array());
                }
            }
            out.write(ends);
        }
    }

    private static byte[] value(String name, int length) {
        final byte[] shape = message(field(1, number(1, 1)), field(1, number(1, length)));
        return message(text(1, name), field(2, field(1, message(number(1, 1), field(2, shape)))));
    }

    private static byte[] varint(long value) {
        final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        long rest = value;
        for (; rest > 0x7F; rest >>>= 7) {
            bytes.write((int) (rest & 0x7F) | 0x80);
        }
        bytes.write((int) rest);
        return bytes.toByteArray();
    }
}
