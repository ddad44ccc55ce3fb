package allocator.onnxruntime.ep;

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
import java.util.Map;
import java.util.Random;

/**
 * The model {@code y = ((a + b) * (a + b)) * c + a}, with a and b of n rows and three columns and c of three columns:
 * its nodes need broadcasting, an input that is used twice, and memory for three intermediate results.
 */
final class ArithmeticModel {
    private static final int IR_VERSION = 8;
    private static final int OPSET_VERSION = 13;
    private static final int FLOAT = 1;
    static final int COLUMNS = 3;

    private ArithmeticModel() {}

    static byte[] bytes() {
        return bytes(OPSET_VERSION);
    }

    /** The model of another operator set. */
    static byte[] bytes(int opset) {
        return bytes(opset, field(11, value("c", columns())));
    }

    /** The model with c as a weight of {@link #COLUMNS} ones. */
    static byte[] bytesWithWeight() {
        return bytes(OPSET_VERSION, field(5, weight("c")));
    }

    private static byte[] bytes(int opset, byte[] c) {
        final byte[] graph = message(
                node("Add", "a", "b", "sum"),
                node("Mul", "sum", "sum", "square"),
                node("Mul", "square", "c", "scaled"),
                node("Add", "scaled", "a", "y"),
                text(2, "arithmetic"),
                field(11, value("a", rows(), columns())),
                field(11, value("b", field(1, text(2, "m")), columns())),
                c,
                field(12, value("y", rows(), columns())));
        return message(number(1, IR_VERSION), field(7, graph), field(8, number(2, opset)));
    }

    /** A {@code TensorProto} of ones. */
    private static byte[] weight(String name) {
        final ByteBuffer ones = ByteBuffer.allocate(COLUMNS * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < COLUMNS; i++) {
            ones.putFloat(1);
        }
        return message(number(1, COLUMNS), number(2, FLOAT), text(8, name), field(9, ones.array()));
    }

    private static byte[] node(String operator, String left, String right, String result) {
        return field(1, message(text(1, left), text(1, right), text(2, result), text(4, operator)));
    }

    private static byte[] rows() {
        return field(1, text(2, "n"));
    }

    private static byte[] columns() {
        return field(1, number(1, COLUMNS));
    }

    /** A {@code ValueInfoProto} of a tensor of floats. */
    private static byte[] value(String name, byte[]... dimensions) {
        final byte[] tensor = message(number(1, FLOAT), field(2, message(dimensions)));
        return message(text(1, name), field(2, field(1, tensor)));
    }

    /** Runs the model on made-up numbers of many magnitudes, and returns the bits of the result. */
    static int[] run(OrtSession session, int rows, long seed) throws OrtException {
        return run(session, rows, seed, new OrtSession.RunOptions());
    }

    static int[] run(OrtSession session, int rows, long seed, OrtSession.RunOptions options) throws OrtException {
        final Random random = new Random(seed);
        try (options;
                OnnxTensor a = tensor(random, rows, COLUMNS);
                OnnxTensor b = tensor(random, rows, COLUMNS);
                OnnxTensor c = tensor(random, COLUMNS);
                OrtSession.Result result = session.run(
                        session.getInputNames().contains("c") ? Map.of("a", a, "b", b, "c", c) : Map.of("a", a, "b", b),
                        options)) {
            final FloatBuffer values = ((OnnxTensor) result.get(0)).getFloatBuffer();
            final int[] bits = new int[values.remaining()];
            for (int i = 0; i < bits.length; i++) {
                bits[i] = Float.floatToRawIntBits(values.get(i));
            }
            return bits;
        }
    }

    /** Runs the model with inputs a and b of different numbers of rows, neither of which is one. */
    static void runMisfit(OrtSession session) throws OrtException {
        final Random random = new Random(1);
        try (OnnxTensor a = tensor(random, 2, COLUMNS);
                OnnxTensor b = tensor(random, 5, COLUMNS);
                OnnxTensor c = tensor(random, COLUMNS)) {
            session.run(Map.of("a", a, "b", b, "c", c)).close();
        }
    }

    private static OnnxTensor tensor(Random random, long... shape) throws OrtException {
        long count = 1;
        for (final long size : shape) {
            count *= size;
        }
        final float[] values = new float[(int) count];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) Math.scalb(random.nextDouble() - 0.5, random.nextInt(80) - 60);
        }
        return OnnxTensor.createTensor(OrtEnvironment.getEnvironment(), FloatBuffer.wrap(values), shape);
    }
}
