package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.math.BigInteger;
import java.util.Map;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** How many elements a shape has, and how many bytes they take. */
class TensorSizesTest {
    private static final long[] BOUNDARIES = LongStream.range(0, Long.SIZE)
            .flatMap(bit -> LongStream.rangeClosed(-2, 2).map(by -> (1L << bit) + by))
            .filter(number -> number >= 0)
            .distinct()
            .toArray();

    private static final Map<ElementType, Integer> BITS = Map.of(
            ElementType.INT4, 4,
            ElementType.INT8, 8,
            ElementType.BFLOAT16, 16,
            ElementType.FLOAT, 32,
            ElementType.DOUBLE, 64);

    @Test
    void everyCountOfElementsTakesItsBitsInWholeBytesOrIsRejected() {
        BITS.forEach((type, bits) -> {
            for (final long count : BOUNDARIES) {
                final BigInteger bytes = BigInteger.valueOf(count)
                        .multiply(BigInteger.valueOf(bits))
                        .add(BigInteger.valueOf(7))
                        .shiftRight(3);
                if (bytes.bitLength() < Long.SIZE) {
                    assertEquals(bytes.longValue(), type.byteSize(count), () -> count + " of " + type);
                } else {
                    assertThrows(ArithmeticException.class, () -> type.byteSize(count), () -> count + " of " + type);
                }
            }
        });
    }

    @Test
    void everyShapeHasTheProductOfItsDimensionsOrIsRejected() {
        for (int bit = 1; bit < Long.SIZE; bit += 2) {
            final long rows = (1L << bit) - 1;
            for (final long columns : BOUNDARIES) {
                long elements = -1;
                try {
                    elements = DeviceTensor.elements(new long[] {rows, columns});
                } catch (IllegalArgumentException e) {
                    // There are too many.
                }
                final BigInteger product = BigInteger.valueOf(rows).multiply(BigInteger.valueOf(columns));
                assertEquals(product.bitLength() < Long.SIZE ? product.longValue() : -1, elements);
            }
        }
        assertThrows(IllegalArgumentException.class, () -> DeviceTensor.elements(new long[] {Long.MIN_VALUE}));
    }
}
