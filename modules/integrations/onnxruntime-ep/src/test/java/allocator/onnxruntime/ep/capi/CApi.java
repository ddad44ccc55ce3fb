package allocator.onnxruntime.ep.capi;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import allocator.onnxruntime.support.OrtApi;
import allocator.onnxruntime.support.OrtLibrary;
import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.Arrays;

/**
 * The functions of ONNX Runtime's C API that an application calls to use execution providers, beside those of
 * {@link OrtApi}. Arguments and results are {@code long}s; of a narrower C type the lower bytes count.
 */
final class CApi {
    /** A function, by its position in {@code OrtApi}. */
    enum Function {
        RUN(9),
        DISABLE_CPU_MEM_ARENA(19),
        CREATE_RUN_OPTIONS(39),
        CREATE_TENSOR_WITH_DATA_AS_ORT_VALUE(49),
        MEMORY_INFO_GET_NAME(71),
        RELEASE_VALUE(96),
        RELEASE_RUN_OPTIONS(97),
        ADD_RUN_CONFIG_ENTRY(165),
        GET_EP_DEVICES(303),
        SESSION_OPTIONS_APPEND_EXECUTION_PROVIDER_V2(304),
        HARDWARE_DEVICE_DEVICE_ID(310),
        EP_DEVICE_EP_NAME(312),
        EP_DEVICE_EP_VENDOR(313),
        EP_DEVICE_EP_METADATA(314),
        EP_DEVICE_DEVICE(316),
        ALLOCATOR_GET_STATS(319),
        CREATE_MEMORY_INFO_V2(320),
        EP_DEVICE_MEMORY_INFO(374),
        CREATE_SHARED_ALLOCATOR(375),
        GET_SHARED_ALLOCATOR(376),
        RELEASE_SHARED_ALLOCATOR(377),
        CREATE_SYNC_STREAM_FOR_EP_DEVICE(383),
        SYNC_STREAM_GET_HANDLE(384),
        RELEASE_SYNC_STREAM(385),
        COPY_TENSORS(386);

        private final int position;

        Function(int position) {
            this.position = position;
        }
    }

    private static final int MAX_ARGUMENTS = 8;
    private static final MethodHandle[] OF = handles();

    private CApi() {}

    private static MethodHandle[] handles() {
        final MethodHandle[] handles = new MethodHandle[MAX_ARGUMENTS + 1];
        for (int i = 0; i <= MAX_ARGUMENTS; i++) {
            final MemoryLayout[] parameters = new MemoryLayout[i];
            Arrays.fill(parameters, JAVA_LONG);
            handles[i] = OrtApi.handle(JAVA_LONG, parameters).asSpreader(long[].class, i);
        }
        return handles;
    }

    static OrtApi ort() {
        return OrtLibrary.api();
    }

    /** Calls a function that returns no status. */
    static long invoke(Function function, long... arguments) {
        return invoke(ort().function(function.position), arguments);
    }

    private static long invoke(MemorySegment function, long... arguments) {
        try {
            return (long) OF[arguments.length].invokeExact(function, arguments);
        } catch (Throwable e) {
            throw OrtApi.unexpected(e);
        }
    }

    /** Calls a function that releases an object. */
    static void release(Function function, long object) {
        final long ignored = invoke(function, object);
    }

    /** Calls a function that returns a status. */
    static void call(Function function, long... arguments) {
        final long status = invoke(function, arguments);
        if (status != 0) {
            throw ort().failure(function, status);
        }
    }

    /** Calls a function that returns a status and has a result behind its last parameter. */
    static long get(Function function, long... arguments) {
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment out = scratch.allocate(JAVA_LONG);
            final long[] all = Arrays.copyOf(arguments, arguments.length + 1);
            all[arguments.length] = out.address();
            call(function, all);
            return out.get(JAVA_LONG, 0);
        }
    }

    /** Returns a member of a struct, 0 if it is absent. */
    static long member(long struct, int offset) {
        return OrtApi.view(struct, offset + Long.BYTES).get(JAVA_LONG, offset);
    }

    /** Calls the function of a struct that a member points to, with the struct as its first argument. */
    static long callMember(long struct, int offset, long... arguments) {
        final long[] all = new long[arguments.length + 1];
        all[0] = struct;
        System.arraycopy(arguments, 0, all, 1, arguments.length);
        return invoke(MemorySegment.ofAddress(member(struct, offset)), all);
    }
}
