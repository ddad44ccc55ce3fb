package allocator.onnxruntime;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/**
 * The smallest useful ONNX model, {@code y = Identity(x)} on one float, written as the Protocol Buffers wire format has
 * it: it has no weights, so that a session of it leaves its allocator untouched.
 *
 * <p>A field is its number and wire type in one byte, {@code number << 3 | type}, and then a varint (type 0) or a length
 * and that many bytes (type 2). All numbers here fit in seven bits.
 */
final class IdentityModel {
    private static final int IR_VERSION = 8;
    private static final int OPSET_VERSION = 13;
    private static final int FLOAT = 1;

    private IdentityModel() {}

    /** The model's bytes. */
    static byte[] bytes() {
        final byte[] node = message(text(1, "x"), text(2, "y"), text(4, "Identity"));
        final byte[] graph = message(field(1, node), text(2, "identity"), field(11, value("x")), field(12, value("y")));
        return message(number(1, IR_VERSION), field(7, graph), field(8, number(2, OPSET_VERSION)));
    }

    /** A {@code ValueInfoProto}: a float tensor of one element. */
    private static byte[] value(String name) {
        final byte[] shape = field(1, number(1, 1));
        final byte[] tensor = message(number(1, FLOAT), field(2, shape));
        return message(text(1, name), field(2, field(1, tensor)));
    }

    private static byte[] number(int field, int value) {
        return new byte[] {(byte) (field << 3), (byte) value};
    }

    private static byte[] text(int field, String value) {
        return field(field, value.getBytes(StandardCharsets.UTF_8));
    }

    private static byte[] field(int field, byte[] content) {
        return message(new byte[] {(byte) (field << 3 | 2), (byte) content.length}, content);
    }

    private static byte[] message(byte[]... parts) {
        final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (final byte[] part : parts) {
            bytes.writeBytes(part);
        }
        return bytes.toByteArray();
    }
}
