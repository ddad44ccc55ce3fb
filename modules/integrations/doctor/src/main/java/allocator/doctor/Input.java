package allocator.doctor;

import ai.onnxruntime.NodeInfo;
import ai.onnxruntime.OnnxJavaType;
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.TensorInfo;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * An input of a model and the shape that it is to have.
 *
 * @param name its name
 * @param type the type of its elements
 * @param dims the dimensions: numbers, or the name of what varies
 * @param isBatch whether the model leaves the first dimension free
 */
record Input(String name, OnnxJavaType type, List<String> dims, boolean isBatch) {
    /** The shapes given do not fit the model. */
    static final class ShapeException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        ShapeException(String message) {
            super(message);
        }
    }

    /**
     * Gives a model's inputs their shapes.
     *
     * @param model the inputs of the model
     * @param given dimensions with an x between them, by the name of the input
     * @throws ShapeException if one is missing or does not fit
     */
    static List<Input> of(Map<String, NodeInfo> model, Map<String, String> given) {
        for (final String name : given.keySet()) {
            if (!model.containsKey(name)) {
                throw new ShapeException("--shape " + name + "=" + given.get(name) + ": the model has no input '" + name
                        + "'; it has " + String.join(", ", model.keySet()));
            }
        }
        final List<Input> inputs = new ArrayList<>();
        for (final NodeInfo node : model.values()) {
            if (!(node.getInfo() instanceof TensorInfo info)) {
                throw new IllegalArgumentException(
                        "input '" + node.getName() + "' is no tensor, and only tensors can be made up");
            }
            inputs.add(of(node.getName(), info, given.get(node.getName())));
        }
        return inputs;
    }

    private static Input of(String name, TensorInfo info, @Nullable String given) {
        final long[] shape = info.getShape();
        final List<String> dims = new ArrayList<>();
        for (int i = 0; i < shape.length; i++) {
            final String symbol = info.getDimensionNames()[i];
            dims.add(shape[i] >= 0 ? String.valueOf(shape[i]) : symbol.isEmpty() ? "?" : symbol);
        }
        final boolean isBatch = shape.length > 0 && shape[0] < 0;
        if (given == null) {
            for (int i = 0; i < shape.length; i++) {
                if (shape[i] < 0) {
                    final String example = IntStream.range(0, shape.length)
                            .mapToObj(at ->
                                    shape[at] >= 0 ? dims.get(at) : at == 0 ? "1" : shape.length < 4 ? "128" : "224")
                            .collect(Collectors.joining("x"));
                    throw new ShapeException("free dimension '" + dims.get(i) + "' of input '" + name
                            + "': add --shape " + name + "=" + example);
                }
            }
            return new Input(name, info.type, dims, false);
        }
        final List<String> wanted = List.of(given.split("x", -1));
        final String option = "--shape " + name + "=" + given + ": ";
        if (wanted.size() != shape.length) {
            throw new ShapeException(option + "input '" + name + "' has " + shape.length + " dimensions, "
                    + String.join(" x ", dims) + "; " + wanted.size() + " are given");
        }
        for (int i = 0; i < shape.length; i++) {
            if (!wanted.get(i).matches("[1-9][0-9]{0,8}|[A-Za-wyz_][A-Za-wyz_0-9]*")) {
                throw new ShapeException(option + "'" + wanted.get(i) + "' is no number from 1 to 999999999");
            }
            if (shape[i] >= 0 && !wanted.get(i).equals(dims.get(i))) {
                throw new ShapeException(option + "dimension " + (i + 1) + " of input '" + name + "' is " + dims.get(i)
                        + " in the model; " + wanted.get(i) + " is given");
            }
        }
        return new Input(name, info.type, wanted, isBatch);
    }

    /** Reads inputs that {@link #setting} wrote. */
    static List<Input> read(Map<String, String> settings) {
        final List<Input> inputs = new ArrayList<>();
        settings.forEach((name, setting) -> {
            final String[] parts = setting.split(" ", -1);
            inputs.add(new Input(
                    name,
                    OnnxJavaType.valueOf(parts[0]),
                    parts[1].isEmpty() ? List.of() : List.of(parts[1].split("x")),
                    parts[2].equals("batch")));
        });
        return inputs;
    }

    /** Returns the input as text, for another process. */
    String setting() {
        return type + " " + String.join("x", dims) + " " + (isBatch ? "batch" : "fixed");
    }

    /** Returns the names in place of dimensions, of all inputs. */
    static TreeSet<String> variables(List<Input> inputs) {
        final TreeSet<String> names = new TreeSet<>();
        inputs.forEach(input -> input.dims.stream()
                .filter(dim -> !Character.isDigit(dim.charAt(0)))
                .forEach(names::add));
        return names;
    }

    /**
     * Makes tensors; the caller closes them.
     *
     * @param value what stands for each name among the dimensions
     * @param factor what a free first dimension is multiplied by
     */
    static Map<String, OnnxTensor> tensors(List<Input> inputs, long value, long factor) throws OrtException {
        final Map<String, OnnxTensor> tensors = new LinkedHashMap<>();
        for (final Input input : inputs) {
            tensors.put(input.name, input.tensor(value, factor));
        }
        return tensors;
    }

    /** Floating-point elements are random, from 0 to 1; whole ones are 1, which is in every vocabulary. */
    private OnnxTensor tensor(long value, long factor) throws OrtException {
        final long[] shape = dims.stream()
                .mapToLong(dim -> Character.isDigit(dim.charAt(0)) ? Long.parseLong(dim) : value)
                .toArray();
        if (isBatch) {
            shape[0] = Math.multiplyExact(shape[0], factor);
        }
        final int count;
        try {
            count = Math.toIntExact(Arrays.stream(shape).reduce(1, Math::multiplyExact));
            Math.multiplyExact(count, Math.max(1, type.size));
        } catch (ArithmeticException _) {
            throw new ShapeException("input '" + name + "' of shape " + Arrays.toString(shape)
                    + " is larger than 2 GiB; give it a smaller --shape");
        }
        final OrtEnvironment environment = OrtEnvironment.getEnvironment();
        if (type == OnnxJavaType.STRING) {
            return OnnxTensor.createTensor(
                    environment, Collections.nCopies(count, "a").toArray(String[]::new), shape);
        }
        final ByteBuffer elements = ByteBuffer.allocateDirect(count * type.size).order(ByteOrder.nativeOrder());
        final Random random = new Random(1);
        for (int i = 0; i < count; i++) {
            switch (type) {
                case FLOAT -> elements.putFloat(random.nextFloat());
                case DOUBLE -> elements.putDouble(random.nextDouble());
                case FLOAT16 -> elements.putShort(Float.floatToFloat16(random.nextFloat()));
                case BFLOAT16 -> elements.putShort((short) (Float.floatToIntBits(random.nextFloat()) >> 16));
                case INT64 -> elements.putLong(1);
                case INT32 -> elements.putInt(1);
                case INT16 -> elements.putShort((short) 1);
                case INT8, UINT8, BOOL -> elements.put((byte) 1);
                default ->
                    throw new IllegalArgumentException(
                            "input '" + name + "' has elements of type " + type + ", which cannot be made up");
            }
        }
        return OnnxTensor.createTensor(environment, elements.flip(), shape, type);
    }
}
