package allocator.onnxruntime.support;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/**
 * Messages in the wire format of Protocol Buffers, as far as ONNX models need it: a field is its number and type as a
 * varint, {@code number << 3 | type}, and then a varint (type 0) or a length and that many bytes (type 2).
 */
public final class Protobuf {
    private static final int VARINT = 0;
    private static final int BYTES = 2;

    private Protobuf() {}

    /** A field that holds a number, which is not negative. */
    public static byte[] number(int field, long value) {
        return message(varint(((long) field << 3) | VARINT), varint(value));
    }

    /** A field that holds a text. */
    public static byte[] text(int field, String value) {
        return field(field, value.getBytes(StandardCharsets.UTF_8));
    }

    /** A field that holds bytes, or a message. */
    public static byte[] field(int field, byte[] content) {
        return message(varint(((long) field << 3) | BYTES), varint(content.length), content);
    }

    /** Fields one after another. */
    public static byte[] message(byte[]... parts) {
        final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (final byte[] part : parts) {
            bytes.writeBytes(part);
        }
        return bytes.toByteArray();
    }

    /** Seven bits a byte, the lowest first; all bytes but the last have the eighth bit set. */
    private static byte[] varint(long value) {
        final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        long rest = value;
        while (rest > 0x7F) {
            bytes.write(((int) rest & 0x7F) | 0x80);
            rest >>>= 7;
        }
        bytes.write((int) rest);
        return bytes.toByteArray();
    }
}
