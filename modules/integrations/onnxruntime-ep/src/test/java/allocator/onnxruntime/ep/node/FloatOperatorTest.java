package allocator.onnxruntime.ep.node;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

class FloatOperatorTest {
    private static float[] apply(FloatOperator operator, float[] a, Shape shapeOfA, float[] b, Shape shapeOfB) {
        final Shape shape = shapeOfA.broadcast(shapeOfB);
        try (Arena memory = Arena.ofConfined()) {
            final MemorySegment result = memory.allocate(JAVA_FLOAT, shape.elements());
            operator.apply(
                    memory.allocateFrom(JAVA_FLOAT, a),
                    shapeOfA,
                    memory.allocateFrom(JAVA_FLOAT, b),
                    shapeOfB,
                    result,
                    shape);
            return result.toArray(JAVA_FLOAT);
        }
    }

    private static Shape shape(long... sizes) {
        return new Shape(sizes);
    }

    private static float[] floats(float... values) {
        return values;
    }

    @Test
    void equalShapesAreCombinedElementByElement() {
        assertThat(apply(FloatOperator.ADD, floats(1, 2), shape(2), floats(10, 20), shape(2)))
                .containsExactly(11, 22);
        assertThat(apply(FloatOperator.MUL, floats(1, 2), shape(2), floats(10, 20), shape(2)))
                .containsExactly(10, 40);
    }

    @Test
    void aRowIsRepeated() {
        assertThat(apply(FloatOperator.ADD, floats(1, 2, 3, 4), shape(2, 2), floats(10, 20), shape(2)))
                .containsExactly(11, 22, 13, 24);
    }

    @Test
    void aColumnAndARowMakeATable() {
        assertThat(apply(FloatOperator.MUL, floats(1, 2, 3), shape(3, 1), floats(10, 20), shape(1, 2)))
                .containsExactly(10, 20, 20, 40, 30, 60);
    }

    @Test
    void aScalarIsRepeated() {
        assertThat(apply(FloatOperator.ADD, floats(5), shape(), floats(1, 2, 3), shape(3)))
                .containsExactly(6, 7, 8);
    }

    @Test
    void anEmptyTensorHasAnEmptyResult() {
        assertThat(shape(0, 3).broadcast(shape(3))).isEqualTo(shape(0, 3));
        assertThat(apply(FloatOperator.ADD, floats(), shape(0, 3), floats(1, 2, 3), shape(3)))
                .isEmpty();
    }

    @Test
    void shapesThatDoNotFitAreRejected() {
        assertThatThrownBy(() -> shape(2, 3).broadcast(shape(2)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("the shapes [2, 3] and [2] do not fit");
    }
}
