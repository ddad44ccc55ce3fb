package allocator.onnxruntime;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import ai.onnxruntime.OrtEnvironment;
import java.io.File;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.Map;
import java.util.TreeMap;

/**
 * The functions of ONNX Runtime's C API that this module calls, in the very library that the Java binding has loaded.
 *
 * <p>{@code OrtGetApiBase} yields {@code GetApi(version)} and {@code GetVersionString}; {@code GetApi} yields a table
 * of function pointers, in which {@link Function} says the position of each. Handles and pointers are {@code long}s; an
 * {@code int} parameter is passed as a {@code long} too, of which the callee reads the lower half.
 */
final class OrtApi {
    /** A function of {@code OrtApi}: its position in the table. All are there from {@link OrtVersion#OLDEST_API} on. */
    enum Function {
        GET_ERROR_CODE(1),
        GET_ERROR_MESSAGE(2),
        CREATE_ENV(3),
        CREATE_SESSION_FROM_ARRAY(8),
        CREATE_SESSION_OPTIONS(10),
        CREATE_MEMORY_INFO(68),
        ALLOCATOR_ALLOC(75),
        ALLOCATOR_FREE(76),
        RELEASE_ENV(92),
        RELEASE_STATUS(93),
        RELEASE_MEMORY_INFO(94),
        RELEASE_SESSION(95),
        RELEASE_SESSION_OPTIONS(100),
        ADD_SESSION_CONFIG_ENTRY(130),
        CREATE_ALLOCATOR(131),
        RELEASE_ALLOCATOR(132),
        CREATE_AND_REGISTER_ALLOCATOR(144),
        RELEASE_ARENA_CFG(157),
        CREATE_ARENA_CFG_V2(164),
        REGISTER_ALLOCATOR(176),
        UNREGISTER_ALLOCATOR(177),
        CREATE_KEY_VALUE_PAIRS(295),
        ADD_KEY_VALUE_PAIR(296),
        GET_KEY_VALUE_PAIRS(298),
        RELEASE_KEY_VALUE_PAIRS(300),
        ALLOCATOR_GET_STATS(319),
        GET_SHARED_ALLOCATOR(376);

        private final int position;

        Function(int position) {
            this.position = position;
        }
    }

    /** {@code OrtAllocatorType}: what a memory info says of its allocator. */
    static final int DEVICE_ALLOCATOR = 0;

    /** {@code OrtAllocatorType} of ONNX Runtime's own arenas. */
    static final int ARENA_ALLOCATOR = 1;

    private static final MethodHandle LONG_OF_0 = handle(JAVA_LONG);
    private static final MethodHandle LONG_OF_INT = handle(JAVA_LONG, JAVA_INT);
    private static final MethodHandle INT_OF_1 = handle(JAVA_INT, JAVA_LONG);
    private static final MethodHandle LONG_OF_1 = handle(JAVA_LONG, JAVA_LONG);
    private static final MethodHandle LONG_OF_2 = handle(JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle LONG_OF_3 = handle(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle LONG_OF_4 = handle(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle LONG_OF_5 =
            handle(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);

    private static final int MAX_TEXT = 1 << 16;

    private final OrtVersion version;
    private final MemorySegment table;
    private final MemorySegment allocatorAlloc;
    private final MemorySegment allocatorFree;

    private OrtApi(OrtVersion version, MemorySegment table) {
        this.version = version;
        this.table = table;
        for (final Function function : Function.values()) {
            if (table.getAtIndex(ADDRESS, function.position).address() == 0) {
                throw new OnnxRuntimeException("ONNX Runtime " + version.text() + " has no function " + function);
            }
        }
        allocatorAlloc = table.getAtIndex(ADDRESS, Function.ALLOCATOR_ALLOC.position);
        allocatorFree = table.getAtIndex(ADDRESS, Function.ALLOCATOR_FREE.position);
    }

    /** The one table of this process; the library is loaded by the Java binding on first use and stays. */
    private static final class Holder {
        static final OrtApi API = load();
    }

    /**
     * The table of the loaded library.
     *
     * @throws OnnxRuntimeException if the library cannot be loaded, or its version is not known
     */
    static OrtApi get() {
        try {
            return Holder.API;
        } catch (ExceptionInInitializerError e) {
            final Throwable cause = e.getCause();
            if (cause instanceof OnnxRuntimeException known) {
                throw known;
            }
            throw new OnnxRuntimeException(
                    "ONNX Runtime cannot be loaded: " + cause, OnnxRuntimeException.NO_CODE, cause);
        } catch (NoClassDefFoundError e) {
            throw new OnnxRuntimeException(
                    "ONNX Runtime could not be loaded when it was first needed", OnnxRuntimeException.NO_CODE, e);
        }
    }

    private static OrtApi load() {
        try {
            // Its initializer loads the native library.
            OrtEnvironment.getAvailableProviders();
        } catch (LinkageError | RuntimeException e) {
            throw new OnnxRuntimeException(
                    "the Java binding of ONNX Runtime cannot load its library: " + e, OnnxRuntimeException.NO_CODE, e);
        }
        return load(entryPoint());
    }

    /**
     * Reads the table of a library.
     *
     * @param entryPoint its {@code OrtGetApiBase}
     * @throws OnnxRuntimeException if its version is not known, or it lacks something that belongs to its version
     */
    static OrtApi load(MemorySegment entryPoint) {
        final long base = callLong(LONG_OF_0, entryPoint);
        if (base == 0) {
            throw new OnnxRuntimeException("the library of ONNX Runtime has no API");
        }
        final MemorySegment baseTable = view(base, 2 * ADDRESS.byteSize());
        final OrtVersion version = OrtVersion.parse(text(callLong(LONG_OF_0, baseTable.getAtIndex(ADDRESS, 1))));
        final long table = getApi(baseTable.getAtIndex(ADDRESS, 0), version.api());
        if (table == 0) {
            throw new OnnxRuntimeException("ONNX Runtime " + version.text() + " does not offer version " + version.api()
                    + " of its API, which belongs to it");
        }
        return new OrtApi(version, view(table, tableSize()));
    }

    /** {@code OrtGetApiBase} in the library that the Java binding has loaded. */
    @SuppressWarnings("restricted")
    private static MemorySegment entryPoint() {
        final String directory = System.getProperty("onnxruntime.native.path");
        final SymbolLookup library = directory == null
                ? SymbolLookup.loaderLookup()
                : SymbolLookup.libraryLookup(
                        new File(directory, System.mapLibraryName("onnxruntime")).toPath(), Arena.global());
        return library.find("OrtGetApiBase")
                .orElseThrow(() -> new OnnxRuntimeException(
                        "the library of ONNX Runtime was not loaded by this module's class loader; set"
                                + " onnxruntime.native.path to the folder that has it"));
    }

    private static long tableSize() {
        int last = 0;
        for (final Function function : Function.values()) {
            last = Math.max(last, function.position);
        }
        return (last + 1) * ADDRESS.byteSize();
    }

    @SuppressWarnings("restricted")
    private static MethodHandle handle(MemoryLayout result, MemoryLayout... parameters) {
        return Linker.nativeLinker().downcallHandle(FunctionDescriptor.of(result, parameters));
    }

    /** Sees native memory whose size is known from the C API. */
    @SuppressWarnings("restricted")
    static MemorySegment view(long address, long byteSize) {
        return MemorySegment.ofAddress(address).reinterpret(byteSize);
    }

    /** The C string at an address; empty for the null pointer. */
    static String text(long address) {
        return address == 0 ? "" : view(address, MAX_TEXT).getString(0);
    }

    /** The version of the loaded library. */
    OrtVersion version() {
        return version;
    }

    // Calls. Each returns a status, which is null for success, unless its name says otherwise.

    private MemorySegment pointer(Function function) {
        return table.getAtIndex(ADDRESS, function.position);
    }

    private static long callLong(MethodHandle handle, MemorySegment function) {
        try {
            return (long) handle.invokeExact(function);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    private static long getApi(MemorySegment function, int version) {
        try {
            return (long) LONG_OF_INT.invokeExact(function, version);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /** Releases an object; the null pointer is ignored. */
    void release(Function function, long a) {
        if (a != 0) {
            callVoid(function, a);
        }
    }

    private void callVoid(Function function, long a) {
        try {
            final long ignored = (long) LONG_OF_1.invokeExact(pointer(function), a);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /** Calls a function of two arguments. */
    void call(Function function, long a, long b) {
        final long status;
        try {
            status = (long) LONG_OF_2.invokeExact(pointer(function), a, b);
        } catch (Throwable e) {
            throw unexpected(e);
        }
        check(function, status);
    }

    /** Calls a function of three arguments. */
    void call(Function function, long a, long b, long c) {
        final long status;
        try {
            status = (long) LONG_OF_3.invokeExact(pointer(function), a, b, c);
        } catch (Throwable e) {
            throw unexpected(e);
        }
        check(function, status);
    }

    /** Calls a function of one argument and a result behind a pointer, and returns that result. */
    long create(Function function) {
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment out = scratch.allocate(JAVA_LONG);
            final long status;
            try {
                status = (long) LONG_OF_1.invokeExact(pointer(function), out.address());
            } catch (Throwable e) {
                throw unexpected(e);
            }
            check(function, status);
            return out.get(JAVA_LONG, 0);
        }
    }

    /** Calls a function of one argument and a result behind a pointer, and returns that result. */
    long create(Function function, long a) {
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment out = scratch.allocate(JAVA_LONG);
            call(function, a, out.address());
            return out.get(JAVA_LONG, 0);
        }
    }

    /** Calls a function of two arguments and a result behind a pointer, and returns that result. */
    long create(Function function, long a, long b) {
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment out = scratch.allocate(JAVA_LONG);
            call(function, a, b, out.address());
            return out.get(JAVA_LONG, 0);
        }
    }

    /** Calls a function of three arguments and a result behind a pointer, and returns that result. */
    long create(Function function, long a, long b, long c) {
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment out = scratch.allocate(JAVA_LONG);
            final long status;
            try {
                status = (long) LONG_OF_4.invokeExact(pointer(function), a, b, c, out.address());
            } catch (Throwable e) {
                throw unexpected(e);
            }
            check(function, status);
            return out.get(JAVA_LONG, 0);
        }
    }

    /** Calls a function of four arguments and a result behind a pointer, and returns that result. */
    long create(Function function, long a, long b, long c, long d) {
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment out = scratch.allocate(JAVA_LONG);
            final long status;
            try {
                status = (long) LONG_OF_5.invokeExact(pointer(function), a, b, c, d, out.address());
            } catch (Throwable e) {
                throw unexpected(e);
            }
            check(function, status);
            return out.get(JAVA_LONG, 0);
        }
    }

    /**
     * {@code AllocatorAlloc}, as thin as it goes.
     *
     * @param out the address of eight bytes that receive the block's address
     * @return the status
     */
    long allocatorAlloc(long allocator, long byteSize, long out) {
        try {
            return (long) LONG_OF_3.invokeExact(allocatorAlloc, allocator, byteSize, out);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /**
     * {@code AllocatorFree}, as thin as it goes.
     *
     * @return the status
     */
    long allocatorFree(long allocator, long address) {
        try {
            return (long) LONG_OF_2.invokeExact(allocatorFree, allocator, address);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /** Calls the function of an {@code OrtAllocator} that {@code member} points to, of the form of {@code Alloc}. */
    static long callMember(long member, long allocator, long byteSize) {
        try {
            return (long) LONG_OF_2.invokeExact(MemorySegment.ofAddress(member), allocator, byteSize);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /** The pairs of an {@code OrtKeyValuePairs}, which is released. */
    Map<String, String> takePairs(long pairs) {
        final Map<String, String> map = new TreeMap<>();
        if (pairs == 0) {
            return map;
        }
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment out = scratch.allocate(JAVA_LONG, 3);
            final long at = out.address();
            try {
                final long ignored = (long) LONG_OF_4.invokeExact(
                        pointer(Function.GET_KEY_VALUE_PAIRS), pairs, at, at + Long.BYTES, at + 2 * Long.BYTES);
            } catch (Throwable e) {
                throw unexpected(e);
            }
            final long count = out.getAtIndex(JAVA_LONG, 2);
            final MemorySegment keys = view(out.getAtIndex(JAVA_LONG, 0), count * Long.BYTES);
            final MemorySegment values = view(out.getAtIndex(JAVA_LONG, 1), count * Long.BYTES);
            for (long i = 0; i < count; i++) {
                map.put(text(keys.getAtIndex(JAVA_LONG, i)), text(values.getAtIndex(JAVA_LONG, i)));
            }
        } finally {
            release(Function.RELEASE_KEY_VALUE_PAIRS, pairs);
        }
        return map;
    }

    /** Makes an {@code OrtKeyValuePairs}, which the caller owns. */
    long createPairs(Map<String, String> pairs) {
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment out = scratch.allocate(JAVA_LONG);
            callVoid(Function.CREATE_KEY_VALUE_PAIRS, out.address());
            final long result = out.get(JAVA_LONG, 0);
            for (final Map.Entry<String, String> pair : pairs.entrySet()) {
                try {
                    final long ignored = (long) LONG_OF_3.invokeExact(
                            pointer(Function.ADD_KEY_VALUE_PAIR),
                            result,
                            scratch.allocateFrom(pair.getKey()).address(),
                            scratch.allocateFrom(pair.getValue()).address());
                } catch (Throwable e) {
                    throw unexpected(e);
                }
            }
            return result;
        }
    }

    // Statuses.

    private void check(Function function, long status) {
        if (status != 0) {
            throw failure(function, status);
        }
    }

    /** Turns a status, which is not null, into an exception and releases it. */
    OnnxRuntimeException failure(Function function, long status) {
        try {
            final int code = (int) INT_OF_1.invokeExact(pointer(Function.GET_ERROR_CODE), status);
            final long message = (long) LONG_OF_1.invokeExact(pointer(Function.GET_ERROR_MESSAGE), status);
            final String text = withoutSource(text(message));
            release(Function.RELEASE_STATUS, status);
            return new OnnxRuntimeException("ONNX Runtime refused " + function + ": " + text, code, null);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /** Drops the place in ONNX Runtime's source, file, line and function, which stands before some messages. */
    private static String withoutSource(String message) {
        final String text = message.strip();
        final int close = text.startsWith("/") ? text.indexOf(") ") : -1;
        return close < 0 ? text : text.substring(close + 2).strip();
    }

    /** A downcall throws nothing of its own: what comes here is an error of the JVM. */
    private static RuntimeException unexpected(Throwable e) {
        if (e instanceof Error error) {
            throw error;
        }
        if (e instanceof RuntimeException exception) {
            return exception;
        }
        return new IllegalStateException(e);
    }
}
