package allocator.onnxruntime.support;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import allocator.onnxruntime.OnnxRuntimeException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * The functions of ONNX Runtime's C API that this module calls, in the library of {@link OrtLibrary}.
 *
 * <p>The C API is a table of function pointers; {@link Function} has the position of each. Handles and pointers are
 * {@code long}s; an {@code int} parameter is passed as a {@code long} too, of which the callee reads the lower half. A
 * function that returns a status which is not null ends in an {@link OnnxRuntimeException}.
 */
public final class OrtApi {
    /** A function of {@code OrtApi}: its position in the table. All are there from {@link OrtVersion#OLDEST_API} on. */
    public enum Function {
        GET_ERROR_CODE(1),
        GET_ERROR_MESSAGE(2),
        CREATE_ENV(3),
        CREATE_SESSION_FROM_ARRAY(8),
        CREATE_SESSION_OPTIONS(10),
        CREATE_TENSOR_WITH_DATA(49),
        GET_TENSOR_MUTABLE_DATA(51),
        GET_TENSOR_ELEMENT_TYPE(60),
        GET_DIMENSIONS_COUNT(61),
        GET_DIMENSIONS(62),
        GET_TENSOR_TYPE_AND_SHAPE(65),
        CREATE_MEMORY_INFO(68),
        MEMORY_INFO_GET_NAME(71),
        ALLOCATOR_ALLOC(75),
        ALLOCATOR_FREE(76),
        GET_DEFAULT_ALLOCATOR(78),
        RELEASE_ENV(92),
        RELEASE_STATUS(93),
        RELEASE_MEMORY_INFO(94),
        RELEASE_SESSION(95),
        RELEASE_VALUE(96),
        RELEASE_TENSOR_INFO(99),
        RELEASE_SESSION_OPTIONS(100),
        ADD_SESSION_CONFIG_ENTRY(130),
        CREATE_ALLOCATOR(131),
        RELEASE_ALLOCATOR(132),
        RUN_WITH_BINDING(133),
        CREATE_IO_BINDING(134),
        RELEASE_IO_BINDING(135),
        BIND_INPUT(136),
        BIND_OUTPUT(137),
        BIND_OUTPUT_TO_DEVICE(138),
        GET_BOUND_OUTPUT_VALUES(140),
        CREATE_AND_REGISTER_ALLOCATOR(144),
        RELEASE_ARENA_CFG(157),
        CREATE_ARENA_CFG_V2(164),
        REGISTER_ALLOCATOR(176),
        UNREGISTER_ALLOCATOR(177),
        SESSION_OPTIONS_APPEND_CUDA_V2(204),
        CREATE_CUDA_PROVIDER_OPTIONS(205),
        RELEASE_CUDA_PROVIDER_OPTIONS(208),
        CREATE_KEY_VALUE_PAIRS(295),
        ADD_KEY_VALUE_PAIR(296),
        GET_KEY_VALUE_PAIRS(298),
        RELEASE_KEY_VALUE_PAIRS(300),
        ALLOCATOR_GET_STATS(319),
        GET_SHARED_ALLOCATOR(376),
        SESSION_GET_MEMORY_INFO_FOR_INPUTS(380),
        SESSION_GET_MEMORY_INFO_FOR_OUTPUTS(381),
        SYNC_STREAM_GET_HANDLE(384);

        private final int position;

        Function(int position) {
            this.position = position;
        }
    }

    /** {@code OrtAllocatorType}: the kind of allocator in a memory info. */
    public static final int DEVICE_ALLOCATOR = 0;

    /** {@code OrtAllocatorType} of ONNX Runtime's own arenas. */
    public static final int ARENA_ALLOCATOR = 1;

    private static final MethodHandle INT_OF_1 = handle(JAVA_INT, JAVA_LONG);
    private static final MethodHandle LONG_OF_1 = handle(JAVA_LONG, JAVA_LONG);
    private static final MethodHandle LONG_OF_2 = handle(JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle LONG_OF_3 = handle(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);

    /** By the number of arguments: calls a function of so many, given as an array. */
    private static final List<MethodHandle> OF_LONGS = IntStream.rangeClosed(0, 7)
            .mapToObj(count -> handle(
                            JAVA_LONG, Collections.nCopies(count, JAVA_LONG).toArray(MemoryLayout[]::new))
                    .asSpreader(long[].class, count))
            .toList();

    private final OrtVersion version;
    private final MemorySegment table;
    private final MemorySegment allocatorAlloc;
    private final MemorySegment allocatorFree;
    private final MemorySegment runWithBinding;

    /**
     * Reads a table.
     *
     * @throws OnnxRuntimeException if a function is missing
     */
    public OrtApi(OrtVersion version, long address) {
        this.version = version;
        table = view(address, tableSize());
        for (final Function function : Function.values()) {
            if (table.getAtIndex(ADDRESS, function.position).address() == 0) {
                throw new OnnxRuntimeException("ONNX Runtime " + version.text() + " has no function " + function);
            }
        }
        allocatorAlloc = table.getAtIndex(ADDRESS, Function.ALLOCATOR_ALLOC.position);
        allocatorFree = table.getAtIndex(ADDRESS, Function.ALLOCATOR_FREE.position);
        runWithBinding = table.getAtIndex(ADDRESS, Function.RUN_WITH_BINDING.position);
    }

    private static long tableSize() {
        int last = 0;
        for (final Function function : Function.values()) {
            last = Math.max(last, function.position);
        }
        return (last + 1) * ADDRESS.byteSize();
    }

    /** Returns a handle that calls native functions of a form. */
    @SuppressWarnings("restricted")
    public static MethodHandle handle(MemoryLayout result, MemoryLayout... parameters) {
        return Linker.nativeLinker().downcallHandle(FunctionDescriptor.of(result, parameters));
    }

    /** Returns native memory whose size is known from the C API. */
    @SuppressWarnings("restricted")
    public static MemorySegment view(long address, long byteSize) {
        return MemorySegment.ofAddress(address).reinterpret(byteSize);
    }

    /** Returns the C string at an address; empty for the null pointer. */
    public static String text(long address) {
        return address == 0 ? "" : view(address, Long.MAX_VALUE).getString(0);
    }

    /** Returns the version of the loaded library. */
    public OrtVersion version() {
        return version;
    }

    /**
     * Returns a function of the table.
     *
     * @param position its position, of a function that the library's version has
     */
    public MemorySegment function(int position) {
        return view(table.address(), (position + 1) * ADDRESS.byteSize()).getAtIndex(ADDRESS, position);
    }

    private MemorySegment pointer(Function function) {
        return table.getAtIndex(ADDRESS, function.position);
    }

    /** Releases an object; the null pointer is ignored. */
    public void release(Function function, long a) {
        if (a != 0) {
            final long ignored = invoke(function, a);
        }
    }

    private long invoke(Function function, long... arguments) {
        try {
            return (long) OF_LONGS.get(arguments.length).invokeExact(pointer(function), arguments);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /** Calls a function that returns a status. */
    public void call(Function function, long... arguments) {
        final long status = invoke(function, arguments);
        if (status != 0) {
            throw failure(function, status);
        }
    }

    /** Calls a function whose last argument points to where its result goes, and returns that result. */
    public long create(Function function, long... arguments) {
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment out = scratch.allocate(JAVA_LONG);
            final long[] all = Arrays.copyOf(arguments, arguments.length + 1);
            all[arguments.length] = out.address();
            call(function, all);
            return out.get(JAVA_LONG, 0);
        }
    }

    /**
     * Calls {@code AllocatorAlloc}, with as little overhead as possible.
     *
     * @param out the address of eight bytes that receive the block's address
     */
    public long allocatorAlloc(long allocator, long byteSize, long out) {
        try {
            return (long) LONG_OF_3.invokeExact(allocatorAlloc, allocator, byteSize, out);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /** Calls {@code AllocatorFree}, with as little overhead as possible. */
    public long allocatorFree(long allocator, long address) {
        try {
            return (long) LONG_OF_2.invokeExact(allocatorFree, allocator, address);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /**
     * Calls {@code RunWithBinding}; allocates no object.
     *
     * @return the status, 0 if it succeeded
     */
    public long runWithBinding(long session, long options, long binding) {
        try {
            return (long) LONG_OF_3.invokeExact(runWithBinding, session, options, binding);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /** Returns the native handle of an {@code OrtSyncStream}, such as a {@code CUstream}. */
    public long streamHandle(long stream) {
        try {
            return (long) LONG_OF_1.invokeExact(pointer(Function.SYNC_STREAM_GET_HANDLE), stream);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /** Calls the function of an {@code OrtAllocator} that {@code member} points to, of the form of {@code Alloc}. */
    public static long callMember(long member, long allocator, long byteSize) {
        try {
            return (long) LONG_OF_2.invokeExact(MemorySegment.ofAddress(member), allocator, byteSize);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /** Returns the pairs of an {@code OrtKeyValuePairs}, which is released. */
    public Map<String, String> takePairs(long pairs) {
        try {
            return readPairs(pairs);
        } finally {
            release(Function.RELEASE_KEY_VALUE_PAIRS, pairs);
        }
    }

    /** Returns the pairs of an {@code OrtKeyValuePairs}, which stays the caller's; none for the null pointer. */
    public Map<String, String> readPairs(long pairs) {
        final Map<String, String> map = new TreeMap<>();
        if (pairs == 0) {
            return map;
        }
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment out = scratch.allocate(JAVA_LONG, 3);
            final long at = out.address();
            final long ignored = invoke(Function.GET_KEY_VALUE_PAIRS, pairs, at, at + Long.BYTES, at + 2 * Long.BYTES);
            final long count = out.getAtIndex(JAVA_LONG, 2);
            final MemorySegment keys = view(out.getAtIndex(JAVA_LONG, 0), count * Long.BYTES);
            final MemorySegment values = view(out.getAtIndex(JAVA_LONG, 1), count * Long.BYTES);
            for (long i = 0; i < count; i++) {
                map.put(text(keys.getAtIndex(JAVA_LONG, i)), text(values.getAtIndex(JAVA_LONG, i)));
            }
        }
        return map;
    }

    /** Makes an {@code OrtKeyValuePairs}, which the caller owns. */
    public long createPairs(Map<String, String> pairs) {
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment out = scratch.allocate(JAVA_LONG);
            final long ignored = invoke(Function.CREATE_KEY_VALUE_PAIRS, out.address());
            final long result = out.get(JAVA_LONG, 0);
            addPairs(result, pairs, scratch);
            return result;
        }
    }

    /** Adds the pairs, or releases the object if it throws. */
    private void addPairs(long result, Map<String, String> pairs, Arena scratch) {
        try {
            for (final Map.Entry<String, String> pair : pairs.entrySet()) {
                final long ignored = invoke(
                        Function.ADD_KEY_VALUE_PAIR,
                        result,
                        scratch.allocateFrom(pair.getKey()).address(),
                        scratch.allocateFrom(pair.getValue()).address());
            }
        } catch (Throwable e) {
            release(Function.RELEASE_KEY_VALUE_PAIRS, result);
            throw e;
        }
    }

    /**
     * Turns a status, which is not null, into an exception and releases it.
     *
     * @param function the function that returned it, or another name for it
     */
    public OnnxRuntimeException failure(Object function, long status) {
        try {
            final int code = (int) INT_OF_1.invokeExact(pointer(Function.GET_ERROR_CODE), status);
            final long message = (long) LONG_OF_1.invokeExact(pointer(Function.GET_ERROR_MESSAGE), status);
            final String text = withoutSource(text(message));
            return new OnnxRuntimeException("ONNX Runtime failed in " + function + ": " + text, code, null);
        } catch (Throwable e) {
            throw unexpected(e);
        } finally {
            release(Function.RELEASE_STATUS, status);
        }
    }

    /** Removes the source location, which precedes some messages: file, line and function. */
    private static String withoutSource(String message) {
        final String text = message.strip();
        final int close = text.startsWith("/") ? text.indexOf(") ") : -1;
        return close < 0 ? text : text.substring(close + 2).strip();
    }

    /** Converts what a downcall threw. A native function throws nothing: it is an error of the JVM. */
    public static RuntimeException unexpected(Throwable e) {
        if (e instanceof Error error) {
            throw error;
        }
        if (e instanceof RuntimeException exception) {
            return exception;
        }
        return new IllegalStateException(e);
    }
}
