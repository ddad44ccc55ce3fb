package allocator.onnxruntime;

import static allocator.onnxruntime.support.Protobuf.field;
import static allocator.onnxruntime.support.Protobuf.message;
import static allocator.onnxruntime.support.Protobuf.number;
import static allocator.onnxruntime.support.Protobuf.text;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * SqueezeNet 1.1 as an ONNX model with random weights: {@code logits[batch, 1000]} of {@code image[batch, 3, height,
 * width]}. Made here, since it is 5 MB of numbers that no archive makes smaller.
 */
final class SqueezeNet {
    private static final int FLOAT = 1;
    private static final int INT_ATTRIBUTE = 2;
    private static final int INTS_ATTRIBUTE = 7;
    private static final int CLASSES = 1000;

    private final SplittableRandom random = new SplittableRandom(11);
    private final List<byte[]> graph = new ArrayList<>();
    private int count;

    private SqueezeNet() {}

    /** The model's bytes, always the same. */
    static byte[] bytes() {
        return new SqueezeNet().model();
    }

    private byte[] model() {
        String x = pool(relu(convolution("image", 3, 64, 3, 2)));
        x = fire(fire(x, 64, 16, 64), 128, 16, 64);
        x = fire(fire(pool(x), 128, 32, 128), 256, 32, 128);
        x = fire(fire(pool(x), 256, 48, 192), 384, 48, 192);
        x = fire(fire(x, 384, 64, 256), 512, 64, 256);
        x = relu(convolution(x, 512, CLASSES, 1, 1));
        x = node("GlobalAveragePool", List.of(x), List.of());
        graph.add(field(1, message(text(1, x), text(2, "logits"), text(4, "Flatten"))));
        graph.add(text(2, "squeezenet"));
        graph.add(field(11, value("image", free("batch"), fixed(3), free("height"), free("width"))));
        graph.add(field(12, value("logits", free("batch"), fixed(CLASSES))));
        return message(number(1, 8), field(7, message(graph.toArray(byte[][]::new))), field(8, number(2, 13)));
    }

    /** Few channels, and from them many by two convolutions side by side. */
    private String fire(String input, int channels, int squeezed, int expanded) {
        final String few = relu(convolution(input, channels, squeezed, 1, 1));
        return node(
                "Concat",
                List.of(
                        relu(convolution(few, squeezed, expanded, 1, 1)),
                        relu(convolution(few, squeezed, expanded, 3, 1))),
                List.of(integer("axis", 1)));
    }

    /** A stride of 1 keeps the image's size, one of 2 has no padding. */
    private String convolution(String input, int from, int to, int size, int stride) {
        final double scale = Math.sqrt(6.0 / (from * size * size));
        final int pad = stride == 1 ? size / 2 : 0;
        return node(
                "Conv",
                List.of(input, weights(scale, to, from, size, size), weights(0.1, to)),
                List.of(
                        integers("kernel_shape", size, size),
                        integers("strides", stride, stride),
                        integers("pads", pad, pad, pad, pad)));
    }

    private String relu(String input) {
        return node("Relu", List.of(input), List.of());
    }

    private String pool(String input) {
        return node(
                "MaxPool",
                List.of(input),
                List.of(integers("kernel_shape", 3, 3), integers("strides", 2, 2), integer("ceil_mode", 1)));
    }

    private String node(String type, List<String> inputs, List<byte[]> attributes) {
        final String output = type + count++;
        final List<byte[]> node = new ArrayList<>();
        inputs.forEach(input -> node.add(text(1, input)));
        node.add(text(2, output));
        node.add(text(3, output));
        node.add(text(4, type));
        attributes.forEach(attribute -> node.add(field(5, attribute)));
        graph.add(field(1, message(node.toArray(byte[][]::new))));
        return output;
    }

    private static byte[] integer(String name, long value) {
        return message(text(1, name), number(3, value), number(20, INT_ATTRIBUTE));
    }

    private static byte[] integers(String name, long... values) {
        final List<byte[]> parts = new ArrayList<>(List.of(text(1, name), number(20, INTS_ATTRIBUTE)));
        for (final long value : values) {
            parts.add(number(8, value));
        }
        return message(parts.toArray(byte[][]::new));
    }

    private String weights(double scale, int... shape) {
        final String name = "weights" + count++;
        final List<byte[]> tensor = new ArrayList<>(List.of(number(2, FLOAT), text(8, name)));
        int elements = 1;
        for (final int length : shape) {
            tensor.add(number(1, length));
            elements *= length;
        }
        final ByteBuffer values = ByteBuffer.allocate(elements * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        while (values.hasRemaining()) {
            values.putFloat((float) random.nextDouble(-scale, scale));
        }
        tensor.add(field(9, values.array()));
        graph.add(field(5, message(tensor.toArray(byte[][]::new))));
        return name;
    }

    private static byte[] value(String name, byte[]... lengths) {
        final List<byte[]> shape = new ArrayList<>();
        for (final byte[] length : lengths) {
            shape.add(field(1, length));
        }
        final byte[] tensor = message(number(1, FLOAT), field(2, message(shape.toArray(byte[][]::new))));
        return message(text(1, name), field(2, field(1, tensor)));
    }

    private static byte[] fixed(int length) {
        return number(1, length);
    }

    private static byte[] free(String name) {
        return text(2, name);
    }
}
