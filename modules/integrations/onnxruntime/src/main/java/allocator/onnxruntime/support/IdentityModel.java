package allocator.onnxruntime.support;

import static allocator.onnxruntime.support.Protobuf.field;
import static allocator.onnxruntime.support.Protobuf.message;
import static allocator.onnxruntime.support.Protobuf.number;
import static allocator.onnxruntime.support.Protobuf.text;

/**
 * The smallest useful ONNX model, {@code y = Identity(x)} on one float: it has no weights, so that a session of it
 * leaves its allocator untouched.
 */
public final class IdentityModel {
    private static final int IR_VERSION = 8;
    private static final int OPSET_VERSION = 13;
    private static final int FLOAT = 1;

    private IdentityModel() {}

    /** The model's bytes. */
    public static byte[] bytes() {
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
}
