package allocator.onnxruntime.ep.node;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** The dimensions of a tensor, of which the last one is contiguous in memory. */
final class Shape {
    private final long[] sizes;

    /** Takes over the sizes. */
    Shape(long... sizes) {
        this.sizes = sizes;
    }

    /** Returns the dimensions, which the caller does not change. */
    long[] sizes() {
        return sizes;
    }

    int rank() {
        return sizes.length;
    }

    /** The number of elements, 1 for a scalar. */
    long elements() {
        return Arrays.stream(sizes).reduce(1, Math::multiplyExact);
    }

    /**
     * The shape of an element-wise result, by ONNX's rule: aligned at the last dimension, where a dimension of 1 stands
     * for any.
     *
     * @throws IllegalArgumentException if they do not fit
     */
    Shape broadcast(Shape other) {
        final int rank = Math.max(rank(), other.rank());
        final long[] result = new long[rank];
        for (int i = 0; i < rank; i++) {
            final long a = fromLast(rank - 1 - i);
            final long b = other.fromLast(rank - 1 - i);
            if (a != b && a != 1 && b != 1) {
                throw new IllegalArgumentException("the shapes " + this + " and " + other + " do not fit");
            }
            result[i] = a == 1 ? b : a;
        }
        return new Shape(result);
    }

    private long fromLast(int distance) {
        return distance < rank() ? sizes[rank() - 1 - distance] : 1;
    }

    /** For each dimension of a result, by how many elements this tensor goes on: 0 where it is repeated. */
    long[] steps(Shape result) {
        final long[] steps = new long[result.rank()];
        long step = 1;
        for (int distance = 0; distance < rank(); distance++) {
            final long size = fromLast(distance);
            steps[result.rank() - 1 - distance] = size == 1 ? 0 : step;
            step *= size;
        }
        return steps;
    }

    @Override
    public boolean equals(@Nullable Object object) {
        return object instanceof Shape other && Arrays.equals(sizes, other.sizes);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(sizes);
    }

    @Override
    public String toString() {
        return Arrays.toString(sizes);
    }
}
