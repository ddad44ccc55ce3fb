package allocator.cuda.driver.libcuda;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import allocator.cuda.driver.CudaFunction;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/**
 * The functions of {@code libcuda.so.1} that are called through {@link java.lang.foreign}.
 *
 * <p>Addresses, handles and pointers are passed as {@code long}, so that a call creates no object. Initializing this
 * class binds every function; use it only after {@link Prerequisites#firstUnmet} has found that the library has them
 * all.
 */
@SuppressWarnings("restricted") // calling the driver is this module's purpose
final class LibCuda {
    static final String LIBRARY = "libcuda.so.1";

    static final MethodHandle GET_ERROR_NAME = bind(CudaFunction.GET_ERROR_NAME, JAVA_INT, JAVA_LONG);
    static final MethodHandle CTX_GET_CURRENT = bind(CudaFunction.CTX_GET_CURRENT, JAVA_LONG);
    static final MethodHandle CTX_SET_CURRENT = bind(CudaFunction.CTX_SET_CURRENT, JAVA_LONG);
    static final MethodHandle CTX_GET_DEVICE = bind(CudaFunction.CTX_GET_DEVICE, JAVA_LONG);
    static final MethodHandle DEVICE_CAN_ACCESS_PEER =
            bind(CudaFunction.DEVICE_CAN_ACCESS_PEER, JAVA_LONG, JAVA_INT, JAVA_INT);
    static final MethodHandle CTX_ENABLE_PEER_ACCESS = bind(CudaFunction.CTX_ENABLE_PEER_ACCESS, JAVA_LONG, JAVA_INT);
    static final MethodHandle MEM_ALLOC = bind(CudaFunction.MEM_ALLOC, JAVA_LONG, JAVA_LONG);
    static final MethodHandle MEM_FREE = bind(CudaFunction.MEM_FREE, JAVA_LONG);
    static final MethodHandle MEM_HOST_ALLOC = bind(CudaFunction.MEM_HOST_ALLOC, JAVA_LONG, JAVA_LONG, JAVA_INT);
    static final MethodHandle MEM_FREE_HOST = bind(CudaFunction.MEM_FREE_HOST, JAVA_LONG);
    static final MethodHandle MEMSET_D8_ASYNC =
            bind(CudaFunction.MEMSET_D8_ASYNC, JAVA_LONG, JAVA_BYTE, JAVA_LONG, JAVA_LONG);
    static final MethodHandle MEMCPY_HTOD_ASYNC =
            bind(CudaFunction.MEMCPY_HTOD_ASYNC, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    static final MethodHandle MEMCPY_DTOH_ASYNC =
            bind(CudaFunction.MEMCPY_DTOH_ASYNC, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    static final MethodHandle MEMCPY_DTOD_ASYNC =
            bind(CudaFunction.MEMCPY_DTOD_ASYNC, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    static final MethodHandle MEMCPY_PEER_ASYNC =
            bind(CudaFunction.MEMCPY_PEER_ASYNC, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    static final MethodHandle MEM_POOL_DESTROY = bind(CudaFunction.MEM_POOL_DESTROY, JAVA_LONG);
    static final MethodHandle DEVICE_GET_DEFAULT_MEM_POOL =
            bind(CudaFunction.DEVICE_GET_DEFAULT_MEM_POOL, JAVA_LONG, JAVA_INT);
    static final MethodHandle MEM_POOL_GET_ATTRIBUTE =
            bind(CudaFunction.MEM_POOL_GET_ATTRIBUTE, JAVA_LONG, JAVA_INT, JAVA_LONG);
    static final MethodHandle MEM_POOL_SET_ATTRIBUTE =
            bind(CudaFunction.MEM_POOL_SET_ATTRIBUTE, JAVA_LONG, JAVA_INT, JAVA_LONG);
    static final MethodHandle MEM_POOL_SET_ACCESS =
            bind(CudaFunction.MEM_POOL_SET_ACCESS, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    static final MethodHandle MEM_POOL_TRIM_TO = bind(CudaFunction.MEM_POOL_TRIM_TO, JAVA_LONG, JAVA_LONG);
    static final MethodHandle MEM_ALLOC_FROM_POOL_ASYNC =
            bind(CudaFunction.MEM_ALLOC_FROM_POOL_ASYNC, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    static final MethodHandle MEM_FREE_ASYNC = bind(CudaFunction.MEM_FREE_ASYNC, JAVA_LONG, JAVA_LONG);
    static final MethodHandle MEM_GET_ALLOCATION_GRANULARITY =
            bind(CudaFunction.MEM_GET_ALLOCATION_GRANULARITY, JAVA_LONG, JAVA_LONG, JAVA_INT);
    static final MethodHandle MEM_CREATE = bind(CudaFunction.MEM_CREATE, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    static final MethodHandle MEM_RELEASE = bind(CudaFunction.MEM_RELEASE, JAVA_LONG);
    static final MethodHandle MEM_MAP =
            bind(CudaFunction.MEM_MAP, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    static final MethodHandle MEM_UNMAP = bind(CudaFunction.MEM_UNMAP, JAVA_LONG, JAVA_LONG);
    static final MethodHandle MEM_SET_ACCESS =
            bind(CudaFunction.MEM_SET_ACCESS, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    static final MethodHandle STREAM_DESTROY = bind(CudaFunction.STREAM_DESTROY, JAVA_LONG);
    static final MethodHandle STREAM_SYNCHRONIZE = bind(CudaFunction.STREAM_SYNCHRONIZE, JAVA_LONG);
    static final MethodHandle STREAM_QUERY = bind(CudaFunction.STREAM_QUERY, JAVA_LONG);
    static final MethodHandle STREAM_GET_ID = bind(CudaFunction.STREAM_GET_ID, JAVA_LONG, JAVA_LONG);
    static final MethodHandle STREAM_GET_CTX = bind(CudaFunction.STREAM_GET_CTX, JAVA_LONG, JAVA_LONG);
    static final MethodHandle STREAM_IS_CAPTURING = bind(CudaFunction.STREAM_IS_CAPTURING, JAVA_LONG, JAVA_LONG);
    static final MethodHandle STREAM_BEGIN_CAPTURE = bind(CudaFunction.STREAM_BEGIN_CAPTURE, JAVA_LONG, JAVA_INT);
    static final MethodHandle STREAM_END_CAPTURE = bind(CudaFunction.STREAM_END_CAPTURE, JAVA_LONG, JAVA_LONG);
    static final MethodHandle THREAD_EXCHANGE_STREAM_CAPTURE_MODE =
            bind(CudaFunction.THREAD_EXCHANGE_STREAM_CAPTURE_MODE, JAVA_LONG);
    static final MethodHandle GRAPH_DESTROY = bind(CudaFunction.GRAPH_DESTROY, JAVA_LONG);
    static final MethodHandle STREAM_WAIT_EVENT = bind(CudaFunction.STREAM_WAIT_EVENT, JAVA_LONG, JAVA_LONG, JAVA_INT);
    static final MethodHandle LAUNCH_HOST_FUNC = bind(CudaFunction.LAUNCH_HOST_FUNC, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    static final MethodHandle EVENT_DESTROY = bind(CudaFunction.EVENT_DESTROY, JAVA_LONG);
    static final MethodHandle EVENT_RECORD = bind(CudaFunction.EVENT_RECORD, JAVA_LONG, JAVA_LONG);
    static final MethodHandle EVENT_QUERY = bind(CudaFunction.EVENT_QUERY, JAVA_LONG);
    static final MethodHandle EVENT_SYNCHRONIZE = bind(CudaFunction.EVENT_SYNCHRONIZE, JAVA_LONG);

    private LibCuda() {}

    private static MethodHandle bind(CudaFunction function, MemoryLayout... parameters) {
        return Library.bind(function, parameters);
    }

    /** The open library, in a class of its own so that it is open before the functions above are bound. */
    private static final class Library {
        static final SymbolLookup SYMBOLS = SymbolLookup.libraryLookup(LIBRARY, Arena.global());

        static MethodHandle bind(CudaFunction function, MemoryLayout... parameters) {
            return Linker.nativeLinker()
                    .downcallHandle(
                            SYMBOLS.findOrThrow(function.symbol()), FunctionDescriptor.of(JAVA_INT, parameters));
        }
    }

    /*
     * One method for each combination of parameter types. Each is small enough to be inlined into its caller, where the
     * function is a constant and the call a plain machine call.
     */

    static int call(MethodHandle function, long a) {
        try {
            return (int) function.invokeExact(a);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int call(MethodHandle function, long a, long b) {
        try {
            return (int) function.invokeExact(a, b);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int call(MethodHandle function, long a, long b, long c) {
        try {
            return (int) function.invokeExact(a, b, c);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int call(MethodHandle function, long a, long b, long c, long d) {
        try {
            return (int) function.invokeExact(a, b, c, d);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int call(MethodHandle function, long a, long b, long c, long d, long e) {
        try {
            return (int) function.invokeExact(a, b, c, d, e);
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    static int call(MethodHandle function, long a, long b, long c, long d, long e, long f) {
        try {
            return (int) function.invokeExact(a, b, c, d, e, f);
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    static int callWithInt(MethodHandle function, int a, long b) {
        try {
            return (int) function.invokeExact(a, b);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int callWithInt(MethodHandle function, long a, int b) {
        try {
            return (int) function.invokeExact(a, b);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int callWithInt(MethodHandle function, long a, int b, long c) {
        try {
            return (int) function.invokeExact(a, b, c);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int callWithInt(MethodHandle function, long a, long b, int c) {
        try {
            return (int) function.invokeExact(a, b, c);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int callWithInts(MethodHandle function, long a, int b, int c) {
        try {
            return (int) function.invokeExact(a, b, c);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int callWithByte(MethodHandle function, long a, byte b, long c, long d) {
        try {
            return (int) function.invokeExact(a, b, c, d);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    /** A bound function declares no exceptions; errors such as a stack overflow are rethrown. */
    private static RuntimeException impossible(Throwable e) {
        if (e instanceof Error error) {
            throw error;
        }
        throw new IllegalStateException(e);
    }
}
