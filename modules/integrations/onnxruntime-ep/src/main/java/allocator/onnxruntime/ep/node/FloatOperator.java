package allocator.onnxruntime.ep.node;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import java.lang.foreign.MemorySegment;

/** An element-wise operator of two tensors of floats. The results are exact to the bit: IEEE 754 has one answer. */
enum FloatOperator {
    ADD("Add") {
        @Override
        float apply(float a, float b) {
            return a + b;
        }
    },
    MUL("Mul") {
        @Override
        float apply(float a, float b) {
            return a * b;
        }
    };

    private final String operator;

    FloatOperator(String operator) {
        this.operator = operator;
    }

    /** Returns ONNX's name. */
    String operator() {
        return operator;
    }

    abstract float apply(float a, float b);

    /** Computes all elements of a result, whose shape is that of the operands {@linkplain Shape#broadcast together}. */
    void apply(MemorySegment a, Shape shapeOfA, MemorySegment b, Shape shapeOfB, MemorySegment result, Shape shape) {
        final long count = shape.elements();
        if (shapeOfA.equals(shape) && shapeOfB.equals(shape)) {
            for (long i = 0; i < count; i++) {
                result.setAtIndex(JAVA_FLOAT, i, apply(a.getAtIndex(JAVA_FLOAT, i), b.getAtIndex(JAVA_FLOAT, i)));
            }
            return;
        }
        final long[] stepsOfA = shapeOfA.steps(shape);
        final long[] stepsOfB = shapeOfB.steps(shape);
        for (long i = 0; i < count; i++) {
            long left = 0;
            long right = 0;
            long rest = i;
            for (int dimension = shape.rank() - 1; dimension >= 0; dimension--) {
                final long index = rest % shape.sizes()[dimension];
                rest /= shape.sizes()[dimension];
                left += index * stepsOfA[dimension];
                right += index * stepsOfB[dimension];
            }
            result.setAtIndex(JAVA_FLOAT, i, apply(a.getAtIndex(JAVA_FLOAT, left), b.getAtIndex(JAVA_FLOAT, right)));
        }
    }
}
