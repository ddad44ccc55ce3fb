package allocator.onnxruntime;

import ai.onnxruntime.OnnxJavaType;
import ai.onnxruntime.TensorInfo;
import org.jspecify.annotations.Nullable;

/** The type of a tensor's elements: those of ONNX Runtime, but strings, which are objects. */
public enum ElementType {
    /** 32 bits, IEEE 754. */
    FLOAT(1, Float.SIZE, OnnxJavaType.FLOAT),
    /** 8 bits, unsigned. */
    UINT8(2, Byte.SIZE, OnnxJavaType.UINT8),
    /** 8 bits. */
    INT8(3, Byte.SIZE, OnnxJavaType.INT8),
    /** 16 bits, unsigned. */
    UINT16(4, Short.SIZE, null),
    /** 16 bits. */
    INT16(5, Short.SIZE, OnnxJavaType.INT16),
    /** 32 bits. */
    INT32(6, Integer.SIZE, OnnxJavaType.INT32),
    /** 64 bits. */
    INT64(7, Long.SIZE, OnnxJavaType.INT64),
    /** One byte, 0 or 1. */
    BOOL(9, Byte.SIZE, OnnxJavaType.BOOL),
    /** 16 bits, IEEE 754. */
    FLOAT16(10, Short.SIZE, OnnxJavaType.FLOAT16),
    /** 64 bits, IEEE 754. */
    DOUBLE(11, Double.SIZE, OnnxJavaType.DOUBLE),
    /** 32 bits, unsigned. */
    UINT32(12, Integer.SIZE, null),
    /** 64 bits, unsigned. */
    UINT64(13, Long.SIZE, null),
    /** 16 bits: the upper half of a {@link #FLOAT}. */
    BFLOAT16(16, Short.SIZE, OnnxJavaType.BFLOAT16),
    /** 8 bits: 4 of exponent, 3 of mantissa, no infinity. */
    FLOAT8E4M3FN(17, Byte.SIZE, null),
    /** As {@link #FLOAT8E4M3FN}, without a negative zero. */
    FLOAT8E4M3FNUZ(18, Byte.SIZE, null),
    /** 8 bits: 5 of exponent, 2 of mantissa. */
    FLOAT8E5M2(19, Byte.SIZE, null),
    /** As {@link #FLOAT8E5M2}, without infinity and a negative zero. */
    FLOAT8E5M2FNUZ(20, Byte.SIZE, null),
    /** 4 bits, unsigned, two in a byte. */
    UINT4(21, 4, null),
    /** 4 bits, two in a byte. */
    INT4(22, 4, null);

    /** The {@code ONNXTensorElementDataType}. */
    final int code;

    private final int bits;

    /** The type in ONNX Runtime's Java binding, {@code null} if it has none. */
    final @Nullable OnnxJavaType javaType;

    ElementType(int code, int bits, @Nullable OnnxJavaType javaType) {
        this.code = code;
        this.bits = bits;
        this.javaType = javaType;
    }

    /**
     * {@return the size of a tensor}
     *
     * @param elements how many elements, from 0
     * @throws ArithmeticException if the size overflows
     */
    public long byteSize(long elements) {
        return bits < Byte.SIZE ? Math.ceilDiv(elements, Byte.SIZE / bits) : Math.multiplyExact(elements, bits / 8L);
    }

    /** Returns whether a tensor of ONNX Runtime's Java binding is of this type. */
    boolean isOf(TensorInfo info) {
        return info.onnxType.name().equals("ONNX_TENSOR_ELEMENT_DATA_TYPE_" + name());
    }

    /** Returns whether so many elements end at a whole byte. */
    boolean isWhole(long elements) {
        return bits >= Byte.SIZE || elements % (Byte.SIZE / bits) == 0;
    }

    /** Returns whether the elements of an array of Java's have the size of this type's. */
    boolean isOf(Object array) {
        return switch (array) {
            case boolean[] _ -> bits == Byte.SIZE;
            case short[] _ -> bits == Short.SIZE;
            case char[] _ -> bits == Short.SIZE;
            case int[] _ -> bits == Integer.SIZE;
            case float[] _ -> this == FLOAT;
            case long[] _ -> bits == Long.SIZE;
            default -> this == DOUBLE;
        };
    }

    /** Returns the type of a code of ONNX Runtime's; {@code null} if there is none. */
    static @Nullable ElementType of(int code) {
        for (final ElementType type : values()) {
            if (type.code == code) {
                return type;
            }
        }
        return null;
    }

    /**
     * Returns the type of a tensor of ONNX Runtime's.
     *
     * @throws IllegalArgumentException if it is of strings, or of a type that the Java binding does not know
     */
    static ElementType of(TensorInfo info) {
        for (final ElementType type : values()) {
            if (type.isOf(info)) {
                return type;
            }
        }
        throw new IllegalArgumentException(
                "a tensor of " + info.onnxType + " has no counterpart in " + ElementType.class);
    }
}
