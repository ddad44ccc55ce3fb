package allocator.spark;

import static allocator.onnxruntime.support.Protobuf.field;
import static allocator.onnxruntime.support.Protobuf.message;
import static allocator.onnxruntime.support.Protobuf.number;
import static allocator.onnxruntime.support.Protobuf.text;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The model {@code y = relu(x * w)} on rows of {@link #COLUMNS} floats, with a result of one float or many. */
final class RowModel {
    static final int COLUMNS = 16;
    private static final int IR_VERSION = 8;
    private static final int OPSET_VERSION = 13;
    private static final int FLOAT = 1;

    private RowModel() {}

    /** Writes the model with so many equal floats for each row. */
    static Path write(Path file, int results) throws IOException {
        return Files.write(file, bytes(results));
    }

    private static byte[] bytes(int results) {
        final byte[] graph = message(
                field(1, message(text(1, "x"), text(1, "w"), text(2, "p"), text(4, "MatMul"))),
                field(1, message(text(1, "p"), text(2, "y"), text(4, "Relu"))),
                text(2, "rows"),
                field(5, weight(results)),
                field(11, value("x", COLUMNS)),
                field(12, value("y", results)));
        return message(number(1, IR_VERSION), field(7, graph), field(8, number(2, OPSET_VERSION)));
    }

    /** A {@code TensorProto}. */
    private static byte[] weight(int results) {
        final ByteBuffer values =
                ByteBuffer.allocate(COLUMNS * results * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < COLUMNS * results; i++) {
            values.putFloat(factor(i / results));
        }
        return message(
                number(1, COLUMNS), number(1, results), number(2, FLOAT), text(8, "w"), field(9, values.array()));
    }

    /** A {@code ValueInfoProto} of a tensor of n rows. */
    private static byte[] value(String name, int columns) {
        final byte[] shape = message(field(1, text(2, "n")), field(1, number(1, columns)));
        return message(text(1, name), field(2, field(1, message(number(1, FLOAT), field(2, shape)))));
    }

    private static float factor(int column) {
        return column - 4;
    }

    private static float element(int row, int column) {
        return (row + column) % 7;
    }

    /** Returns the result of a row. All numbers are small, so that it is exact. */
    static float expected(int row) {
        float sum = 0;
        for (int i = 0; i < COLUMNS; i++) {
            sum += element(row, i) * factor(i);
        }
        return Math.max(0, sum);
    }

    static Map<String, OnnxTensor> inputs(OrtEnvironment environment, List<Integer> rows) throws OrtException {
        final FloatBuffer values = FloatBuffer.allocate(rows.size() * COLUMNS);
        for (final int row : rows) {
            for (int i = 0; i < COLUMNS; i++) {
                values.put(element(row, i));
            }
        }
        return Map.of("x", OnnxTensor.createTensor(environment, values.flip(), new long[] {rows.size(), COLUMNS}));
    }

    /** Returns the first result of each row. */
    static List<Float> outputs(OrtSession.Result result) throws OrtException {
        final OnnxTensor tensor = (OnnxTensor) result.get(0);
        final FloatBuffer values = tensor.getFloatBuffer();
        final int results = (int) tensor.getInfo().getShape()[1];
        final List<Float> rows = new ArrayList<>();
        for (int i = 0; i < values.remaining(); i += results) {
            rows.add(values.get(i));
        }
        return rows;
    }
}
