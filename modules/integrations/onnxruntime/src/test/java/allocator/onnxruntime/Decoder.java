package allocator.onnxruntime;

import static allocator.onnxruntime.support.Protobuf.field;
import static allocator.onnxruntime.support.Protobuf.message;
import static allocator.onnxruntime.support.Protobuf.number;
import static allocator.onnxruntime.support.Protobuf.text;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.LongStream;

/**
 * A small decoder with random weights, the same in each call: from a token and its position, and the keys and values of
 * the tokens before it, the logits of the next one. The cache has room for a fixed number of tokens; output
 * {@code present} is input {@code past} with one row more, and may be the same memory. All operators have kernels for
 * CUDA, so that its work can be captured.
 *
 * <p>Inputs: {@code token} int64[1], {@code position} int64[1,1], {@code past} float[2 * layers, tokens, width].
 * Outputs: {@code logits} float[1, words], {@code present} as {@code past}.
 */
final class Decoder {
    private static final int FLOAT = 1;
    private static final int INT64 = 7;
    private static final int INT_ATTRIBUTE = 2;
    private static final int INTS_ATTRIBUTE = 7;

    private final List<byte[]> graph = new ArrayList<>();
    private final Random random = new Random(1);
    private final int layers;
    private final int tokens;
    private final int width;
    private final int words;

    /**
     * @param layers how many layers
     * @param tokens how many tokens the cache has room for
     * @param width the length of a vector
     * @param words how many words there are
     */
    Decoder(int layers, int tokens, int width, int words) {
        this.layers = layers;
        this.tokens = tokens;
        this.width = width;
        this.words = words;
    }

    /** Returns the shape of the cache. */
    long[] cacheShape() {
        return new long[] {2L * layers, tokens, width};
    }

    int words() {
        return words;
    }

    /** Returns the logits of a sequence, by ONNX Runtime's Java binding, which copies the cache in each run. */
    float[][] plain(OrtSession session, long... sequence) throws OrtException {
        final OrtEnvironment environment = OrtEnvironment.getEnvironment();
        final float[][] logits = new float[sequence.length][];
        FloatBuffer cache = FloatBuffer.allocate(2 * layers * tokens * width);
        for (int i = 0; i < sequence.length; i++) {
            final Map<String, OnnxTensor> inputs = new LinkedHashMap<>();
            inputs.put("token", OnnxTensor.createTensor(environment, new long[] {sequence[i]}));
            inputs.put("position", OnnxTensor.createTensor(environment, new long[][] {{i}}));
            inputs.put("past", OnnxTensor.createTensor(environment, cache, cacheShape()));
            try (OrtSession.Result result = session.run(inputs)) {
                logits[i] = ((float[][]) result.get(0).getValue())[0];
                cache = ((OnnxTensor) result.get(1)).getFloatBuffer();
            } finally {
                inputs.values().forEach(OnnxTensor::close);
            }
        }
        return logits;
    }

    /** Returns the model's bytes. Called once. */
    byte[] model() {
        weights("embedding", words, width);
        integers("places", LongStream.range(0, tokens).toArray(), 1, tokens);
        integers("axis0", new long[] {0}, 1);
        floats("scale", new float[] {(float) (1 / Math.sqrt(width))}, 1);
        floats("zero", new float[] {0}, 1);
        floats("never", new float[] {-1e9f}, 1);
        node("Gather", "x0", "embedding", "token");
        node("LessOrEqual", "seen", "places", "position");
        node("Where", "mask", "seen", "zero", "never");
        for (int i = 0; i < 2 * layers; i++) {
            integers("cell" + i, new long[] {i}, 1, 1);
            node("Concat", "at" + i, attribute("axis", 1), "cell" + i, "position");
            integers("index" + i, new long[] {i}, 1);
        }
        String cache = "past";
        for (int layer = 0; layer < layers; layer++) {
            final String x = "x" + layer;
            for (final String part : List.of("q", "k", "v", "o")) {
                weights(part + "w" + layer, width, width);
            }
            node("MatMul", "q" + layer, x, "qw" + layer);
            node("MatMul", "k" + layer, x, "kw" + layer);
            node("MatMul", "v" + layer, x, "vw" + layer);
            final int key = 2 * layer;
            final boolean isLast = layer == layers - 1;
            node("ScatterND", "keys" + layer, cache, "at" + key, "k" + layer);
            cache = isLast ? "present" : "values" + layer;
            node("ScatterND", cache, "keys" + layer, "at" + (key + 1), "v" + layer);
            node("Gather", "K3" + layer, cache, "index" + key);
            node("Squeeze", "K" + layer, "K3" + layer, "axis0");
            node("Gather", "V3" + layer, cache, "index" + (key + 1));
            node("Squeeze", "V" + layer, "V3" + layer, "axis0");
            node("Transpose", "KT" + layer, order(), "K" + layer);
            node("MatMul", "raw" + layer, "q" + layer, "KT" + layer);
            node("Mul", "scaled" + layer, "raw" + layer, "scale");
            node("Add", "masked" + layer, "scaled" + layer, "mask");
            node("Softmax", "weight" + layer, attribute("axis", 1), "masked" + layer);
            node("MatMul", "read" + layer, "weight" + layer, "V" + layer);
            node("MatMul", "made" + layer, "read" + layer, "ow" + layer);
            node("Add", "x" + (layer + 1), x, "made" + layer);
        }
        weights("head", width, words);
        node("MatMul", "logits", "x" + layers, "head");
        graph.add(text(2, "decoder"));
        graph.add(field(11, value("token", INT64, 1)));
        graph.add(field(11, value("position", INT64, 1, 1)));
        graph.add(field(11, value("past", FLOAT, 2L * layers, tokens, width)));
        graph.add(field(12, value("logits", FLOAT, 1, words)));
        graph.add(field(12, value("present", FLOAT, 2L * layers, tokens, width)));
        return message(number(1, 8), field(7, message(graph.toArray(byte[][]::new))), field(8, number(2, 16)));
    }

    private void node(String operator, String output, String... inputs) {
        node(operator, output, new byte[0], inputs);
    }

    private void node(String operator, String output, byte[] attribute, String... inputs) {
        final List<byte[]> parts = new ArrayList<>();
        for (final String input : inputs) {
            parts.add(text(1, input));
        }
        parts.add(text(2, output));
        parts.add(text(3, "/decoder/" + output));
        parts.add(text(4, operator));
        if (attribute.length > 0) {
            parts.add(field(5, attribute));
        }
        graph.add(field(1, message(parts.toArray(byte[][]::new))));
    }

    private static byte[] attribute(String name, long value) {
        return message(text(1, name), number(3, value), number(20, INT_ATTRIBUTE));
    }

    /** Exchanges two dimensions. */
    private static byte[] order() {
        return message(text(1, "perm"), number(8, 1), number(8, 0), number(20, INTS_ATTRIBUTE));
    }

    private void weights(String name, int rows, int columns) {
        final float[] values = new float[rows * columns];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) (random.nextGaussian() / Math.sqrt(rows));
        }
        floats(name, values, rows, columns);
    }

    private void floats(String name, float[] values, long... shape) {
        final ByteBuffer bytes =
                ByteBuffer.allocate(values.length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asFloatBuffer().put(values);
        constant(name, FLOAT, bytes.array(), shape);
    }

    private void integers(String name, long[] values, long... shape) {
        final ByteBuffer bytes = ByteBuffer.allocate(values.length * Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asLongBuffer().put(values);
        constant(name, INT64, bytes.array(), shape);
    }

    private void constant(String name, int type, byte[] bytes, long... shape) {
        final List<byte[]> parts = new ArrayList<>();
        for (final long dimension : shape) {
            parts.add(number(1, dimension));
        }
        parts.add(number(2, type));
        parts.add(text(8, name));
        parts.add(field(9, bytes));
        graph.add(field(5, message(parts.toArray(byte[][]::new))));
    }

    private static byte[] value(String name, int type, long... shape) {
        final List<byte[]> dimensions = new ArrayList<>();
        for (final long dimension : shape) {
            dimensions.add(field(1, number(1, dimension)));
        }
        final byte[] tensor = message(number(1, type), field(2, message(dimensions.toArray(byte[][]::new))));
        return message(text(1, name), field(2, field(1, tensor)));
    }
}
