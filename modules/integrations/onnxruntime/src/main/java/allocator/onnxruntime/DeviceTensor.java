package allocator.onnxruntime;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import allocator.onnxruntime.support.OrtApi;
import allocator.spi.MemoryInfo;
import allocator.spi.SyncStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A tensor in memory of an installation, of the processor, pinned or of a device: its inputs and outputs stay there
 * between the runs of a {@link Binding}.
 *
 * <p>Made by {@link InstalledMemory#tensor}, {@link InstalledMemory#tensorAt} and {@link Binding#result}. The elements
 * lie one after another, the last dimension first. {@link #slice} and {@link #reshape} make views, which share the
 * memory; it is freed with the last of them. The tensor is the program's: sessions that close leave it valid, and
 * {@link OnnxRuntimeAllocators#close} is rejected while it is open.
 *
 * <p>Safe for use by any thread, but nothing orders a copy and a run of other threads. A copy waits for launches that
 * use the memory, and is complete when it returns. Its bytes are not initialized.
 */
public final class DeviceTensor implements AutoCloseable {
    /** The uses of a closed tensor. */
    private static final int CLOSED = -1;

    private final TensorBlock block;
    private final long from;
    private final ElementType type;
    private final long[] shape;
    private final long elements;

    /** The {@code OrtValue}. */
    private final long value;

    /** The runs and copies that use it now; {@link #CLOSED} from its close on. */
    private final AtomicInteger uses = new AtomicInteger();

    private DeviceTensor(TensorBlock block, long from, ElementType type, long[] shape, long value) {
        this.block = block;
        this.from = from;
        this.type = type;
        this.shape = shape;
        this.value = value;
        elements = elements(shape);
        block.open();
    }

    /**
     * Makes a tensor of a part of a block.
     *
     * @param from the first byte in the block
     * @param shape the dimensions, which become the tensor's
     */
    static DeviceTensor of(TensorBlock block, long from, ElementType type, long[] shape) {
        return new DeviceTensor(block, from, type, shape, value(block, from, type, shape));
    }

    private static long value(TensorBlock block, long from, ElementType type, long[] shape) {
        final NativeEnvironment environment = NativeEnvironment.get();
        try (Arena scratch = Arena.ofConfined()) {
            return environment
                    .api()
                    .create(
                            OrtApi.Function.CREATE_TENSOR_WITH_DATA,
                            environment.memoryInfo(block.memory().target().memory()),
                            block.address() + from,
                            type.byteSize(elements(shape)),
                            scratch.allocateFrom(ValueLayout.JAVA_LONG, shape).address(),
                            shape.length,
                            type.code);
        }
    }

    /**
     * Returns how many elements a shape has.
     *
     * @throws IllegalArgumentException if a dimension is negative, or there are more than a long counts
     */
    static long elements(long[] shape) {
        long elements = 1;
        for (final long dimension : shape) {
            if (dimension < 0) {
                throw new IllegalArgumentException("the shape " + Arrays.toString(shape) + " has a negative dimension");
            }
            try {
                elements = Math.multiplyExact(elements, dimension);
            } catch (ArithmeticException e) {
                throw new IllegalArgumentException(
                        "the shape " + Arrays.toString(shape) + " has more elements than a long counts", e);
            }
        }
        return elements;
    }

    /** {@return the type of the elements} */
    public ElementType type() {
        return type;
    }

    /** {@return a copy of the dimensions; empty for a scalar} */
    public long[] shape() {
        return shape.clone();
    }

    /** {@return the size in bytes} */
    public long byteSize() {
        return type.byteSize(elements);
    }

    /** {@return the memory that it is in} */
    public MemoryInfo memory() {
        return block.memory().info();
    }

    /**
     * {@return the address of the first element, of use as long as the tensor is open; of a device's memory it is the
     * device's}
     */
    public long address() {
        return block.address() + from;
    }

    /** {@return whether the tensor is closed} */
    public boolean isClosed() {
        return uses.get() == CLOSED;
    }

    /**
     * Replaces the elements.
     *
     * @param source the elements in the machine's order of bytes, of exactly {@link #byteSize} bytes: native memory, or
     *     an array as {@link MemorySegment#ofArray(float[])}, which costs another copy if the tensor is a device's
     * @return this tensor
     * @throws IllegalArgumentException if it has another size, or is of an array of elements of another size than the
     *     tensor's, unless of bytes
     * @throws IllegalStateException if the tensor is closed
     * @throws allocator.spi.DeviceException if the device fails
     */
    public DeviceTensor copyFrom(MemorySegment source) {
        requireFit(source);
        beginUse();
        try {
            block.copy(from, source, true);
        } finally {
            endUse();
        }
        return this;
    }

    /**
     * Copies the elements out.
     *
     * @param target where to; as the source of {@link #copyFrom(MemorySegment)}
     * @throws IllegalArgumentException as {@link #copyFrom(MemorySegment)}
     * @throws IllegalStateException as {@link #copyFrom(MemorySegment)}
     * @throws allocator.spi.DeviceException if the device or a launch that uses the memory fails
     */
    public void copyTo(MemorySegment target) {
        requireFit(target);
        beginUse();
        try {
            block.copy(from, target, false);
        } finally {
            endUse();
        }
    }

    /**
     * Replaces the elements by those of another tensor, without a way through the host between two of one device. The
     * two must not overlap.
     *
     * @param source a tensor of the same type and number of elements
     * @return this tensor
     * @throws IllegalArgumentException if it is not
     * @throws IllegalStateException as {@link #copyFrom(MemorySegment)}, also of the source
     */
    public DeviceTensor copyFrom(DeviceTensor source) {
        requireType(source.type);
        requireSize(source.byteSize());
        beginUse();
        try {
            source.beginUse();
            try {
                block.copy(from, source.block, source.from, byteSize());
            } finally {
                source.endUse();
            }
        } finally {
            endUse();
        }
        return this;
    }

    /**
     * Replaces the elements by those of a tensor of ONNX Runtime's binding.
     *
     * @param source a tensor of the same type and number of elements
     * @return this tensor
     * @throws IllegalArgumentException if it is not
     * @throws IllegalStateException as {@link #copyFrom(MemorySegment)}, also of the source
     */
    public DeviceTensor copyFrom(OnnxTensor source) {
        requireType(ElementType.of(source.getInfo()));
        return copyFrom(MemorySegment.ofBuffer(source.getByteBuffer()));
    }

    /**
     * {@return a tensor of ONNX Runtime's binding with a copy of the elements, to be closed by the caller}
     *
     * @param environment the environment
     * @throws OrtException if ONNX Runtime fails
     * @throws UnsupportedOperationException if the binding has no such type, or the tensor is larger than 2 GiB
     */
    public OnnxTensor toOnnxTensor(OrtEnvironment environment) throws OrtException {
        if (type.javaType == null || byteSize() > Integer.MAX_VALUE) {
            throw new UnsupportedOperationException(this + " cannot become an OnnxTensor: "
                    + (type.javaType == null ? "Java has no type for it there" : "a buffer has at most 2 GiB"));
        }
        final ByteBuffer copy = ByteBuffer.allocateDirect((int) byteSize()).order(ByteOrder.nativeOrder());
        copyTo(MemorySegment.ofBuffer(copy));
        return OnnxTensor.createTensor(environment, copy, shape, type.javaType);
    }

    /**
     * {@return a view of the indices from {@code begin} to before {@code end} of the first dimension, to be closed by
     * the caller}
     *
     * @param begin the first index, from 0
     * @param end the index after the last, at most the dimension
     * @throws IndexOutOfBoundsException if there are no such indices
     * @throws IllegalArgumentException if the tensor is a scalar, or the part does not begin and end at a whole byte
     * @throws IllegalStateException if the tensor is closed
     */
    public DeviceTensor slice(long begin, long end) {
        if (shape.length == 0) {
            throw new IllegalArgumentException("a scalar has no dimension to slice");
        }
        Objects.checkFromToIndex(begin, end, shape[0]);
        final long[] part = shape.clone();
        part[0] = 1;
        final long row = elements == 0 ? 0 : elements(part);
        part[0] = end - begin;
        if (!type.isWhole(row * begin) || (end < shape[0] && !type.isWhole(row * end))) {
            throw new IllegalArgumentException("rows of " + row + " elements of " + type + " end within a byte");
        }
        return view(type.byteSize(row * begin), part);
    }

    /**
     * {@return a view with other dimensions, to be closed by the caller}
     *
     * @param dimensions as many elements as this tensor has
     * @throws IllegalArgumentException if they are not
     * @throws IllegalStateException if the tensor is closed
     */
    public DeviceTensor reshape(long... dimensions) {
        if (elements(dimensions) != elements) {
            throw new IllegalArgumentException(this + " cannot have the shape " + Arrays.toString(dimensions));
        }
        return view(0, dimensions.clone());
    }

    private DeviceTensor view(long offset, long[] dimensions) {
        beginUse();
        try {
            return of(block, from + offset, type, dimensions);
        } finally {
            endUse();
        }
    }

    /**
     * Ends the tensor. The last of those that share the memory waits for launches that use it, and frees it. A second
     * call does nothing.
     *
     * @throws IllegalStateException if a run or a copy uses the tensor now; it stays open
     * @throws allocator.spi.DeviceException if the device cannot confirm that a launch is done; it stays open
     */
    @Override
    public void close() {
        if (!uses.compareAndSet(0, CLOSED)) {
            if (uses.get() == CLOSED) {
                return;
            }
            throw new IllegalStateException(this + " is used by a run or a copy; close it afterwards");
        }
        try {
            block.close();
        } catch (Throwable e) {
            uses.set(0);
            throw e;
        }
        NativeEnvironment.get().api().release(OrtApi.Function.RELEASE_VALUE, value);
    }

    /**
     * Begins a use, during which it cannot be closed.
     *
     * @throws IllegalStateException if it is closed
     */
    void beginUse() {
        int before = uses.get();
        while (before != CLOSED && !uses.compareAndSet(before, before + 1)) {
            before = uses.get();
        }
        if (before == CLOSED) {
            throw new IllegalStateException(this + " is closed");
        }
    }

    void endUse() {
        uses.decrementAndGet();
    }

    /** Notes that work submitted to a stream uses the tensor, if there is one. */
    void usedOn(@Nullable SyncStream stream) {
        if (stream != null) {
            block.usedOn(stream);
        }
    }

    TensorBlock block() {
        return block;
    }

    /** Returns the {@code OrtValue}. */
    long value() {
        return value;
    }

    /** Returns whether two tensors have a byte in common. */
    boolean overlaps(DeviceTensor other) {
        return address() < other.address() + other.byteSize() && other.address() < address() + byteSize();
    }

    private void requireType(ElementType other) {
        if (other != type) {
            throw new IllegalArgumentException(this + " cannot take elements of " + other);
        }
    }

    private void requireFit(MemorySegment segment) {
        segment.heapBase()
                .filter(array -> !(array instanceof byte[]) && !type.isOf(array))
                .ifPresent(array -> {
                    throw new IllegalArgumentException(this + " has elements of another size than "
                            + array.getClass().getSimpleName());
                });
        requireSize(segment.byteSize());
    }

    private void requireSize(long bytes) {
        if (bytes != byteSize()) {
            throw new IllegalArgumentException(
                    this + " has " + MemoryDump.size(byteSize()) + ", the other side " + MemoryDump.size(bytes));
        }
    }

    @Override
    public String toString() {
        return "tensor " + type + Arrays.toString(shape) + " in " + memory();
    }
}
