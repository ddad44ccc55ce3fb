package allocator.onnxruntime.ep.abi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import allocator.onnxruntime.OnnxRuntimeException;
import allocator.onnxruntime.ep.abi.EpFunction.Table;
import allocator.onnxruntime.support.OrtApi;
import allocator.onnxruntime.support.OrtLibrary;
import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;

/**
 * Calls the functions of {@link EpFunction}. Arguments and results are {@code long}s; of a narrower C type the lower
 * bytes count.
 */
public final class EpApi {
    private static final int MAX_ARGUMENTS = 8;
    private static final MethodHandle[] OF = handles();

    private final OrtApi api;
    private final Map<EpFunction, MemorySegment> functions = new EnumMap<>(EpFunction.class);
    private final MemorySegment createStatus;

    private EpApi(OrtApi api) {
        this.api = api;
        createStatus = api.function(EpFunction.CREATE_STATUS.position());
        final int version = api.version().api();
        final MemorySegment getEpApi = api.function(EpFunction.GET_EP_API.position());
        final long epTable = invoke(getEpApi);
        for (final EpFunction function : EpFunction.values()) {
            if (function.since() <= version) {
                functions.put(
                        function,
                        function.table() == Table.ORT_API
                                ? api.function(function.position())
                                : OrtApi.view(epTable, (function.position() + 1) * ADDRESS.byteSize())
                                        .getAtIndex(ADDRESS, function.position()));
            }
        }
    }

    private static MethodHandle[] handles() {
        final MethodHandle[] handles = new MethodHandle[MAX_ARGUMENTS + 1];
        for (int i = 0; i <= MAX_ARGUMENTS; i++) {
            final MemoryLayout[] parameters = new MemoryLayout[i];
            Arrays.fill(parameters, JAVA_LONG);
            handles[i] = OrtApi.handle(JAVA_LONG, parameters);
        }
        return handles;
    }

    private static final class Holder {
        static final EpApi API = new EpApi(OrtLibrary.api());
    }

    /**
     * Returns the functions of the library in this process. Loads it if necessary.
     *
     * @throws OnnxRuntimeException if the library cannot be loaded, or its version is not known
     */
    public static EpApi get() {
        OrtLibrary.api();
        return Holder.API;
    }

    /** Returns the rest of the C API. */
    public OrtApi ort() {
        return api;
    }

    /** Returns the version of the C API, N for ONNX Runtime 1.N. */
    public int version() {
        return api.version().api();
    }

    /** Returns whether the library has a function. */
    public boolean has(EpFunction function) {
        return functions.containsKey(function);
    }

    /** Calls a function and returns what it returns. */
    public long invoke(EpFunction function, long... a) {
        final MemorySegment pointer = functions.get(function);
        if (pointer == null) {
            throw new OnnxRuntimeException("ONNX Runtime " + api.version().text() + " has no function " + function);
        }
        return invoke(pointer, a);
    }

    private static long invoke(MemorySegment f, long... a) {
        try {
            return switch (a.length) {
                case 0 -> (long) OF[0].invokeExact(f);
                case 1 -> (long) OF[1].invokeExact(f, a[0]);
                case 2 -> (long) OF[2].invokeExact(f, a[0], a[1]);
                case 3 -> (long) OF[3].invokeExact(f, a[0], a[1], a[2]);
                case 4 -> (long) OF[4].invokeExact(f, a[0], a[1], a[2], a[3]);
                case 5 -> (long) OF[5].invokeExact(f, a[0], a[1], a[2], a[3], a[4]);
                case 6 -> (long) OF[6].invokeExact(f, a[0], a[1], a[2], a[3], a[4], a[5]);
                case 7 -> (long) OF[7].invokeExact(f, a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
                case 8 -> (long) OF[8].invokeExact(f, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
                default -> throw new IllegalArgumentException(a.length + " arguments");
            };
        } catch (Throwable e) {
            throw OrtApi.unexpected(e);
        }
    }

    /** Calls a function that returns a status. */
    public void call(EpFunction function, long... a) {
        final long status = invoke(function, a);
        if (status != 0) {
            throw api.failure(function, status);
        }
    }

    /** Calls a function that returns a status and has a result of eight bytes behind its last parameter. */
    public long get(EpFunction function, long... a) {
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment out = scratch.allocate(JAVA_LONG);
            final long[] all = Arrays.copyOf(a, a.length + 1);
            all[a.length] = out.address();
            call(function, all);
            return out.get(JAVA_LONG, 0);
        }
    }

    /** As {@link #get}, with a result of four bytes. */
    public int getInt(EpFunction function, long... a) {
        return (int) get(function, a);
    }

    /** As {@link #get}, with a C string that stays ONNX Runtime's. */
    public String getText(EpFunction function, long... a) {
        return OrtApi.text(get(function, a));
    }

    /** Calls a function that fills an array of {@code count} pointers, and returns them. */
    public long[] getAll(EpFunction function, long a, int count) {
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment out = scratch.allocate(JAVA_LONG, Math.max(1, count));
            call(function, a, out.address(), count);
            return out.asSlice(0, (long) count * Long.BYTES).toArray(JAVA_LONG);
        }
    }

    /** Makes a status, which the receiver releases. */
    long newStatus(int code, String message) {
        try (Arena scratch = Arena.ofConfined()) {
            return newStatus(code, scratch.allocateFrom(message).address());
        }
    }

    /** As {@link #newStatus(int, String)}, with a C string; needs no heap. */
    long newStatus(int code, long message) {
        try {
            return (long) OF[2].invokeExact(createStatus, (long) code, message);
        } catch (Throwable e) {
            throw OrtApi.unexpected(e);
        }
    }

    /** Sets a pointer, or a number of eight bytes, that native code passed the address of. */
    public static void set(long address, long value) {
        OrtApi.view(address, Long.BYTES).set(JAVA_LONG, 0, value);
    }

    /** Sets a number of four bytes. */
    public static void setInt(long address, int value) {
        OrtApi.view(address, Integer.BYTES).set(JAVA_INT, 0, value);
    }

    /** Returns an element of an array of pointers. */
    public static long element(long array, long index) {
        return OrtApi.view(array, (index + 1) * Long.BYTES).getAtIndex(JAVA_LONG, index);
    }
}
