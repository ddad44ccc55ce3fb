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
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/** Models whose tensors can be counted by hand: without weights, each joining its inputs, and of many weights. */
final class SmallModels {
    private static final int FLOAT = 1;
    private static final int BOOL = 9;
    private static final int INT_ATTRIBUTE = 2;
    private static final int GRAPH_ATTRIBUTE = 5;

    /** How many operators {@link #chain} has. */
    static final int OPERATORS = 10;

    /** The numbers of a row of {@link #deep}. */
    static final int WIDTH = 2048;

    /** The output of {@link #chain}. */
    static final String LAST = "y" + (OPERATORS - 1);

    private SmallModels() {}

    /** The name of an operator of {@link #chain}. */
    static String operator(int i) {
        return "/net/layer." + i / 2 + "/Concat_" + i;
    }

    /** Ten operators, each joining {@code x} to what the one before it made: the tensor of operator i has i + 2 x. */
    static byte[] chain() {
        final List<byte[]> graph = new ArrayList<>();
        for (int i = 0; i < OPERATORS; i++) {
            graph.add(concat(operator(i), i == 0 ? "x" : "y" + (i - 1), "x", "y" + i));
        }
        graph.add(text(2, "chain"));
        graph.add(field(11, value("x", FLOAT, text(2, "n"))));
        graph.add(field(12, value("y" + (OPERATORS - 1), FLOAT, text(2, "m"))));
        return model(graph);
    }

    /** One operator that joins {@code x}, of a type of ONNX's, to itself: {@code y}. */
    static byte[] twice(int type) {
        return model(List.of(
                concat("twice", "x", "x", "y"),
                text(2, "twice"),
                field(11, value("x", type, text(2, "n"))),
                field(12, value("y", type, text(2, "m")))));
    }

    /**
     * {@code before}, then one of two operators whose tensors have the same size, then {@code after}.
     *
     * @param name that of the choice
     */
    static byte[] choice(String name) {
        final List<byte[]> graph = new ArrayList<>();
        graph.add(concat("before", "x", "x", "a"));
        graph.add(field(
                1,
                message(
                        text(1, "which"),
                        text(2, "b"),
                        text(3, name),
                        text(4, "If"),
                        field(5, branch("then_branch", "left")),
                        field(5, branch("else_branch", "right")))));
        graph.add(concat("after", "b", "x", "c"));
        graph.add(text(2, "choice"));
        graph.add(field(11, value("x", FLOAT, text(2, "n"))));
        graph.add(field(11, value("which", BOOL, number(1, 1))));
        graph.add(field(12, value("c", FLOAT, text(2, "m"))));
        return model(graph);
    }

    private static byte[] branch(String attribute, String operator) {
        final byte[] graph = message(
                concat(operator, "a", "x", operator + "_y"),
                text(2, operator),
                field(12, value(operator + "_y", FLOAT, text(2, operator + "_n"))));
        return message(text(1, attribute), field(6, graph), number(20, GRAPH_ATTRIBUTE));
    }

    /**
     * {@code y = tanh(... tanh(x W) ...)} of a row {@code x} of {@link #WIDTH} numbers, with a matrix of 16 MiB in each
     * layer.
     *
     * @param seed of the weights
     */
    static byte[] deep(int layers, long seed) {
        final SplittableRandom random = new SplittableRandom(seed);
        final List<byte[]> graph = new ArrayList<>();
        for (int i = 0; i < layers; i++) {
            final String input = i == 0 ? "x" : "t" + (i - 1);
            final String output = i == layers - 1 ? "y" : "t" + i;
            graph.add(field(1, message(text(1, input), text(1, "w" + i), text(2, "m" + i), text(4, "MatMul"))));
            graph.add(field(1, message(text(1, "m" + i), text(2, output), text(4, "Tanh"))));
            final ByteBuffer weights =
                    ByteBuffer.allocate(WIDTH * WIDTH * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
            while (weights.hasRemaining()) {
                weights.putFloat((random.nextInt() >> 8) * 0x1p-27F);
            }
            graph.add(field(
                    5,
                    message(
                            number(1, WIDTH),
                            number(1, WIDTH),
                            number(2, FLOAT),
                            text(8, "w" + i),
                            field(9, weights.array()))));
        }
        graph.add(text(2, "deep"));
        graph.add(field(11, matrix("x")));
        graph.add(field(12, matrix("y")));
        return model(graph);
    }

    /** Changes the first number of each row's weights in {@link #deep}, which is quicker than another model. */
    static void vary(byte[] deep, float value) {
        final byte[] header = field(9, new byte[WIDTH * WIDTH * Float.BYTES]);
        final int length = header.length - WIDTH * WIDTH * Float.BYTES;
        for (int i = 0; i + header.length <= deep.length; i++) {
            if (Arrays.equals(header, 0, length, deep, i, i + length)) {
                ByteBuffer.wrap(deep).order(ByteOrder.LITTLE_ENDIAN).putFloat(i + length, value);
                i += header.length - 1;
            }
        }
    }

    private static byte[] matrix(String name) {
        final byte[] shape = message(field(1, text(2, "rows")), field(1, number(1, WIDTH)));
        return message(text(1, name), field(2, field(1, message(number(1, FLOAT), field(2, shape)))));
    }

    /** Runs {@link #deep} once and returns the bits of its output. */
    static int[] runDeep(Models.Runner session, long seed) throws OrtException {
        return runDeep(session, seed, 1);
    }

    /** Runs {@link #deep} once for several rows. */
    static int[] runDeep(Models.Runner session, long seed, int rows) throws OrtException {
        final float[][] values = new float[rows][WIDTH];
        final Random random = new Random(seed);
        for (final float[] row : values) {
            for (int i = 0; i < WIDTH; i++) {
                row[i] = random.nextFloat();
            }
        }
        try (OnnxTensor x = OnnxTensor.createTensor(OrtEnvironment.getEnvironment(), values);
                OrtSession.Result result = session.run(Map.of("x", x))) {
            final FloatBuffer output = ((OnnxTensor) result.get(0)).getFloatBuffer();
            return IntStream.range(0, rows * WIDTH)
                    .map(i -> Float.floatToRawIntBits(output.get(i)))
                    .toArray();
        }
    }

    private static byte[] model(List<byte[]> graph) {
        return message(number(1, 8), field(7, message(graph.toArray(byte[][]::new))), field(8, number(2, 13)));
    }

    private static byte[] concat(String name, String first, String second, String output) {
        final byte[] axis = message(text(1, "axis"), number(3, 0), number(20, INT_ATTRIBUTE));
        return field(
                1,
                message(
                        text(1, first),
                        text(1, second),
                        text(2, output),
                        text(3, name),
                        text(4, "Concat"),
                        field(5, axis)));
    }

    private static byte[] value(String name, int type, byte[] length) {
        final byte[] tensor = message(number(1, type), field(2, field(1, length)));
        return message(text(1, name), field(2, field(1, tensor)));
    }

    /** The input of {@link #chain}. The caller closes it. */
    static Map<String, OnnxTensor> x(int length) throws OrtException {
        return Map.of("x", OnnxTensor.createTensor(OrtEnvironment.getEnvironment(), new float[length]));
    }

    /** The inputs of {@link #choice}. The caller closes them. */
    static Map<String, OnnxTensor> x(int length, boolean which) throws OrtException {
        return Map.of(
                "x", OnnxTensor.createTensor(OrtEnvironment.getEnvironment(), new float[length]),
                "which", OnnxTensor.createTensor(OrtEnvironment.getEnvironment(), new boolean[] {which}));
    }
}
