package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnxruntime.OnnxJavaType;
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import ai.onnxruntime.TensorInfo;
import allocator.testkit.Share;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.LongBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A model's outputs do not depend on whose memory they are computed in: many runs of changing shapes, to the bit, and
 * afterwards no block is left. With {@code -Donnxruntime.models=FOLDER} the models of a folder take part.
 */
class BitIdentityTest {
    private static final int RUNS = Share.of(1000);

    private final OrtEnvironment environment = OrtEnvironment.getEnvironment();

    /** The models, by what they are called or where they lie. */
    static Stream<String> models() throws IOException {
        final List<String> models = new ArrayList<>(List.of("tiny_bert", "squeezenet"));
        final String folder = System.getProperty("onnxruntime.models");
        if (folder != null) {
            try (Stream<Path> files = Files.list(Path.of(folder))) {
                files.map(Path::toString)
                        .filter(file -> file.endsWith(".onnx"))
                        .sorted()
                        .forEach(models::add);
            }
        }
        return models.stream();
    }

    private static byte[] bytesOf(String model) throws IOException {
        return switch (model) {
            case "tiny_bert" -> Models.TINY_BERT;
            case "squeezenet" -> SqueezeNet.bytes();
            default -> Files.readAllBytes(Path.of(model));
        };
    }

    @ParameterizedTest
    @MethodSource("models")
    void onAnArena(String model) throws OrtException, IOException {
        try (OnnxRuntimeAllocators memory =
                OnnxRuntimeAllocators.on(environment).provider("cpu-reference").install()) {
            compare(memory, model);
            assertEquals(0, memory.stats().bytesInUse());
            assertEquals(0, memory.bytesInUse());
        }
    }

    @ParameterizedTest
    @MethodSource("models")
    void onBlocksOfTheSystem(String model) throws OrtException, IOException {
        final HeapAllocator heap = new HeapAllocator();
        try (OnnxRuntimeAllocators memory =
                OnnxRuntimeAllocators.on(environment).allocator(heap).install()) {
            compare(memory, model);
        }
        assertEquals(0, heap.liveBlocks());
    }

    private void compare(OnnxRuntimeAllocators memory, String model) throws OrtException, IOException {
        final byte[] bytes = bytesOf(model);
        final Random random = new Random(42);
        try (SessionOptions options = new SessionOptions();
                SessionOptions plain = new SessionOptions()) {
            options.setIntraOpNumThreads(1);
            plain.setIntraOpNumThreads(1);
            try (OrtSession theirs = environment.createSession(bytes, plain);
                    AllocatorSession ours = memory.openSession(bytes, model, options, SessionSettings.DEFAULT)) {
                for (int i = 0; i < RUNS; i++) {
                    final Map<String, OnnxTensor> inputs = inputs(theirs, random);
                    try (OrtSession.Result expected = theirs.run(inputs);
                            OrtSession.Result actual = ours.run(inputs)) {
                        assertEquals(expected.size(), actual.size());
                        for (int output = 0; output < expected.size(); output++) {
                            assertArrayEquals(output(expected, output), output(actual, output), "run " + i);
                        }
                    } finally {
                        inputs.values().forEach(OnnxTensor::close);
                    }
                }
                assertTrue(ours.stats().numAllocs() > RUNS, () -> ours.stats().toString());
                assertTrue(ours.stats().bytesInUse() > 0, () -> ours.stats().toString());
                assertEquals(0, ours.stats().numFailedAllocs());
            }
        }
    }

    private static byte[] output(OrtSession.Result result, int output) {
        final ByteBuffer buffer = ((OnnxTensor) result.get(output)).getByteBuffer();
        final byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return bytes;
    }

    /** Random inputs of random shapes; dimensions of one name are equal. */
    private Map<String, OnnxTensor> inputs(OrtSession session, Random random) throws OrtException {
        final Map<String, Long> lengths = new HashMap<>();
        final Map<String, OnnxTensor> inputs = new HashMap<>();
        for (final var input : session.getInputInfo().entrySet()) {
            final TensorInfo info = (TensorInfo) input.getValue().getInfo();
            final long[] shape = info.getShape().clone();
            int count = 1;
            for (int i = 0; i < shape.length; i++) {
                if (shape[i] < 0) {
                    // Images want some size.
                    final long least = i > 1 ? 32 : 1;
                    final long most = i == 0 ? 2 : 24;
                    shape[i] = lengths.computeIfAbsent(
                            info.getDimensionNames()[i], _ -> random.nextLong(least, least + most));
                }
                count = Math.multiplyExact(count, Math.toIntExact(shape[i]));
            }
            if (info.type == OnnxJavaType.FLOAT) {
                final FloatBuffer values = FloatBuffer.allocate(count);
                while (values.hasRemaining()) {
                    values.put((float) random.nextGaussian());
                }
                inputs.put(input.getKey(), OnnxTensor.createTensor(environment, values.flip(), shape));
            } else {
                // Identities of words, and marks that are all set, for which any number but 0 will do.
                final LongBuffer values =
                        LongBuffer.wrap(random.longs(count, 1, 100).toArray());
                inputs.put(input.getKey(), OnnxTensor.createTensor(environment, values, shape));
            }
        }
        return inputs;
    }
}
