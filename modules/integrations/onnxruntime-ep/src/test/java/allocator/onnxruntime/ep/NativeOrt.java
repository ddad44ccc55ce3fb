package allocator.onnxruntime.ep;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import allocator.onnxruntime.support.EnvironmentReference;
import allocator.onnxruntime.support.OrtAllocatorLayout;
import allocator.onnxruntime.support.OrtApi;
import allocator.onnxruntime.support.OrtApi.Function;
import allocator.onnxruntime.support.OrtLibrary;
import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.Arrays;
import java.util.Map;

/** What an application in C does with execution providers, and the Java binding of ONNX Runtime has no method for. */
final class NativeOrt {
    static final int DEFAULT = 0;
    static final int HOST_ACCESSIBLE = 5;
    private static final int FLOAT = 1;

    private NativeOrt() {}

    static OrtApi api() {
        return OrtLibrary.api();
    }

    private static long invoke(MemorySegment function, long... arguments) {
        final MemoryLayout[] parameters = new MemoryLayout[arguments.length];
        Arrays.fill(parameters, JAVA_LONG);
        final MethodHandle handle = OrtApi.handle(JAVA_LONG, parameters);
        final Object[] all = new Object[arguments.length + 1];
        all[0] = function;
        for (int i = 0; i < arguments.length; i++) {
            all[i + 1] = arguments[i];
        }
        try {
            return (long) handle.invokeWithArguments(all);
        } catch (Throwable e) {
            throw OrtApi.unexpected(e);
        }
    }

    /** Calls a function that returns no status. */
    private static long raw(int position, long... arguments) {
        return invoke(api().function(position), arguments);
    }

    /** Calls a function that returns a status. */
    private static void call(String name, int position, long... arguments) {
        final long status = raw(position, arguments);
        if (status != 0) {
            throw api().failure(name, status);
        }
    }

    /** Calls a function that returns a status and has a result behind its last parameter. */
    private static long get(String name, int position, long... arguments) {
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment out = scratch.allocate(JAVA_LONG);
            final long[] all = Arrays.copyOf(arguments, arguments.length + 1);
            all[arguments.length] = out.address();
            call(name, position, all);
            return out.get(JAVA_LONG, 0);
        }
    }

    /** The first {@code OrtEpDevice} of a provider. */
    static long device(String provider) {
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment out = scratch.allocate(JAVA_LONG, 2);
            call("GetEpDevices", 303, EnvironmentReference.handle(), out.address(), out.address() + Long.BYTES);
            final long count = out.getAtIndex(JAVA_LONG, 1);
            final MemorySegment devices = OrtApi.view(out.getAtIndex(JAVA_LONG, 0), count * Long.BYTES);
            for (long i = 0; i < count; i++) {
                final long device = devices.getAtIndex(JAVA_LONG, i);
                if (OrtApi.text(raw(312, device)).equals(provider)) {
                    return device;
                }
            }
        }
        throw new AssertionError("no device of " + provider);
    }

    /** The {@code OrtMemoryInfo} of a device, 0 if there is none. */
    static long memoryInfo(long device, int memoryType) {
        return raw(374, device, memoryType);
    }

    static String nameOf(long memoryInfo) {
        return OrtApi.text(get("MemoryInfoGetName", 71, memoryInfo));
    }

    /** The allocator that the environment shares, 0 if there is none. */
    static long sharedAllocator(long memoryInfo) {
        return get("GetSharedAllocator", 376, EnvironmentReference.handle(), memoryInfo);
    }

    static long createSharedAllocator(long device, int memoryType, Map<String, String> options) {
        final long pairs = api().createPairs(options);
        try {
            return get("CreateSharedAllocator", 375, EnvironmentReference.handle(), device, memoryType, 0, pairs);
        } finally {
            api().release(Function.RELEASE_KEY_VALUE_PAIRS, pairs);
        }
    }

    static void releaseSharedAllocator(long device, int memoryType) {
        call("ReleaseSharedAllocator", 377, EnvironmentReference.handle(), device, memoryType);
    }

    static long alloc(long allocator, long byteSize) {
        return api().create(Function.ALLOCATOR_ALLOC, allocator, byteSize);
    }

    static void free(long allocator, long address) {
        api().call(Function.ALLOCATOR_FREE, allocator, address);
    }

    static Map<String, String> stats(long allocator) {
        return api().takePairs(api().create(Function.ALLOCATOR_GET_STATS, allocator));
    }

    static int version(long allocator) {
        return OrtApi.view(allocator, OrtAllocatorLayout.BYTE_SIZE).get(JAVA_INT, OrtAllocatorLayout.VERSION);
    }

    /** A function of an allocator's struct, 0 if it has none. */
    static long member(long allocator, int offset) {
        return OrtApi.view(allocator, OrtAllocatorLayout.BYTE_SIZE).get(JAVA_LONG, offset);
    }

    static long callMember(long allocator, int offset, long... arguments) {
        final long[] all = new long[arguments.length + 1];
        all[0] = allocator;
        System.arraycopy(arguments, 0, all, 1, arguments.length);
        return invoke(MemorySegment.ofAddress(member(allocator, offset)), all);
    }

    /** Calls a function of a struct that returns a status and has a result behind its parameter. */
    static long resultOf(long struct, int offset) {
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment out = scratch.allocate(JAVA_LONG);
            final long status = callMember(struct, offset, out.address());
            if (status != 0) {
                throw api().failure("member at " + offset, status);
            }
            return out.get(JAVA_LONG, 0);
        }
    }

    static void shrink(long allocator) {
        final long status = callMember(allocator, OrtAllocatorLayout.SHRINK);
        if (status != 0) {
            throw api().failure("Shrink", status);
        }
    }

    static long createStream(long device) {
        return get("CreateSyncStreamForEpDevice", 383, device, 0);
    }

    static long streamHandle(long stream) {
        return raw(384, stream);
    }

    static void releaseStream(long stream) {
        final long ignored = raw(385, stream);
    }

    /** A tensor of {@code count} floats in an allocator's memory. */
    static long tensor(long allocator, int count) {
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment shape = scratch.allocateFrom(JAVA_LONG, count);
            return get("CreateTensorAsOrtValue", 48, allocator, shape.address(), 1, FLOAT);
        }
    }

    static MemorySegment elements(long tensor, int count) {
        return OrtApi.view(get("GetTensorMutableData", 51, tensor), (long) count * Float.BYTES);
    }

    static void fill(long tensor, float... values) {
        MemorySegment.copy(values, 0, elements(tensor, values.length), JAVA_FLOAT, 0, values.length);
    }

    static void releaseTensor(long tensor) {
        final long ignored = raw(96, tensor);
    }

    /** Copies a tensor, on a stream unless that is 0. */
    static void copy(long source, long target, long stream) {
        try (Arena scratch = Arena.ofConfined()) {
            call(
                    "CopyTensors",
                    386,
                    EnvironmentReference.handle(),
                    scratch.allocateFrom(JAVA_LONG, source).address(),
                    scratch.allocateFrom(JAVA_LONG, target).address(),
                    stream,
                    1);
        }
    }

    /** The allocator of the CPU that ONNX Runtime itself shares. */
    static long cpuAllocator() {
        return get("GetAllocatorWithDefaultOptions", 78);
    }
}
