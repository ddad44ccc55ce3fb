package allocator.onnxruntime.ep.node;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import allocator.onnxruntime.ep.abi.EpApi;
import allocator.onnxruntime.ep.abi.EpFunction;
import allocator.onnxruntime.support.OrtApi;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * A node that runs in plain Java: {@code Add} or {@code Mul} of two tensors of floats in memory that the CPU reaches.
 *
 * @param operator what it computes
 * @param left which input of the compiled node is the first operand
 * @param right which input is the second operand; may be the same
 */
public record NodeKernel(FloatOperator operator, int left, int right) {
    /** The operator set from which on operands are broadcast; before, attributes said how. */
    private static final int BROADCASTING = 7;

    private static Optional<FloatOperator> operatorOf(GraphNode node) {
        final String name = node.operator();
        return Arrays.stream(FloatOperator.values())
                .filter(operator -> operator.operator().equals(name))
                .findFirst();
    }

    /** Returns whether a node runs in Java. */
    public static boolean runs(GraphNode node) {
        final String domain = node.domain();
        return (domain.isEmpty() || domain.equals("ai.onnx"))
                && operatorOf(node).isPresent()
                && node.sinceVersion() >= BROADCASTING
                && node.inputs().size() == 2
                && node.inputs().stream().allMatch(NodeValue::isFloatTensor)
                && node.outputs().size() == 1
                && node.outputs().getFirst().isFloatTensor();
    }

    /**
     * Compiles a node.
     *
     * @param node the node of the model
     * @param compiled the node that takes its place, whose inputs come in an order of its own and without repetition
     */
    public static NodeKernel of(GraphNode node, GraphNode compiled) {
        final List<String> inputs =
                compiled.inputs().stream().map(NodeValue::name).toList();
        final List<String> operands =
                node.inputs().stream().map(NodeValue::name).toList();
        return new NodeKernel(
                operatorOf(node)
                        .orElseThrow(() -> new IllegalArgumentException(node.operator() + " does not run here")),
                indexOf(inputs, operands.getFirst()),
                indexOf(inputs, operands.getLast()));
    }

    private static int indexOf(List<String> inputs, String name) {
        final int index = inputs.indexOf(name);
        if (index < 0) {
            throw new IllegalArgumentException("the compiled node has inputs " + inputs + ", but not " + name);
        }
        return index;
    }

    /**
     * Runs the node.
     *
     * @param context the {@code OrtKernelContext} of the run
     */
    public void run(long context) {
        final EpApi api = EpApi.get();
        final Tensor a = Tensor.of(api.get(EpFunction.KERNEL_CONTEXT_GET_INPUT, context, left));
        final Tensor b = Tensor.of(api.get(EpFunction.KERNEL_CONTEXT_GET_INPUT, context, right));
        final Shape shape = a.shape.broadcast(b.shape);
        final MemorySegment result = output(context, shape);
        operator.apply(a.elements, a.shape, b.elements, b.shape, result, shape);
    }

    private static MemorySegment output(long context, Shape shape) {
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment sizes = scratch.allocateFrom(JAVA_LONG, shape.sizes());
            final long value =
                    EpApi.get().get(EpFunction.KERNEL_CONTEXT_GET_OUTPUT, context, 0, sizes.address(), shape.rank());
            return elements(value, shape);
        }
    }

    private static MemorySegment elements(long value, Shape shape) {
        final long byteSize = Math.multiplyExact(shape.elements(), (long) Float.BYTES);
        return byteSize == 0
                ? MemorySegment.NULL
                : OrtApi.view(EpApi.get().get(EpFunction.GET_TENSOR_MUTABLE_DATA, value), byteSize);
    }

    /** A tensor of a run. */
    private record Tensor(MemorySegment elements, Shape shape) {
        static Tensor of(long value) {
            final EpApi api = EpApi.get();
            final long info = api.get(EpFunction.GET_TENSOR_TYPE_AND_SHAPE, value);
            try {
                final int rank = (int) api.get(EpFunction.GET_DIMENSIONS_COUNT, info);
                final Shape shape = new Shape(api.getAll(EpFunction.GET_DIMENSIONS, info, rank));
                return new Tensor(NodeKernel.elements(value, shape), shape);
            } finally {
                api.invoke(EpFunction.RELEASE_TENSOR_TYPE_AND_SHAPE_INFO, info);
            }
        }
    }
}
