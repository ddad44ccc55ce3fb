package allocator.bench.subject;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import allocator.onnxruntime.OnnxRuntimeLibrary;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/**
 * An {@code OrtAllocator} of ONNX Runtime's C API, called through its function pointers as native code does. Pointers
 * are {@code long}s, so that no segment is made for each block.
 */
final class OrtAllocatorStruct {
    // Positions in the table OrtApi, and in OrtAllocator behind its version. The C API only ever appends.
    private static final int CREATE_ENV = 3;
    private static final int CREATE_MEMORY_INFO = 68;
    private static final int GET_SHARED_ALLOCATOR = 376;
    private static final int ALLOC = 1;
    private static final int FREE = 2;

    private static final int WARNING = 2;
    private static final int DEVICE_ALLOCATOR = 0;

    private static final MethodHandle ALLOC_CALL = handle(FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle FREE_CALL = handle(FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_LONG));

    private final long struct;
    private final MemorySegment alloc;
    private final MemorySegment free;

    private OrtAllocatorStruct(long struct) {
        this.struct = struct;
        final MemorySegment members = table(struct, FREE);
        alloc = members.getAtIndex(ADDRESS, ALLOC);
        free = members.getAtIndex(ADDRESS, FREE);
    }

    /** The allocator of CPU memory that ONNX Runtime's environment shares: the installed one, if one is installed. */
    static OrtAllocatorStruct shared() {
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment out = scratch.allocate(JAVA_LONG);
            final MemorySegment api = api();
            // The process has one environment and counts its users; this count is never given back.
            check("CreateEnv", (long) handle(FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG))
                    .invokeExact(
                            api.getAtIndex(ADDRESS, CREATE_ENV),
                            WARNING,
                            scratch.allocateFrom("bench").address(),
                            out.address()));
            final long environment = out.get(JAVA_LONG, 0);
            check("CreateMemoryInfo", (long)
                    handle(FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG))
                            .invokeExact(
                                    api.getAtIndex(ADDRESS, CREATE_MEMORY_INFO),
                                    scratch.allocateFrom("Cpu").address(),
                                    DEVICE_ALLOCATOR,
                                    0,
                                    0,
                                    out.address()));
            final long memory = out.get(JAVA_LONG, 0);
            check("GetSharedAllocator", (long) handle(FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG))
                    .invokeExact(api.getAtIndex(ADDRESS, GET_SHARED_ALLOCATOR), environment, memory, out.address()));
            return new OrtAllocatorStruct(out.get(JAVA_LONG, 0));
        } catch (Throwable e) {
            throw new IllegalStateException("no shared allocator: " + e, e);
        }
    }

    private static void check(String function, long status) {
        if (status != 0) {
            throw new IllegalStateException(function + " failed");
        }
    }

    /** The table of functions. The library is loaded by the Java binding, in the class loader of this class too. */
    private static MemorySegment api() throws Throwable {
        final int version = OnnxRuntimeLibrary.apiVersion();
        final long base = (long) handle(FunctionDescriptor.of(JAVA_LONG))
                .invokeExact(SymbolLookup.loaderLookup().findOrThrow("OrtGetApiBase"));
        final long api = (long) handle(FunctionDescriptor.of(JAVA_LONG, JAVA_INT))
                .invokeExact(table(base, 0).getAtIndex(ADDRESS, 0), version);
        return table(api, GET_SHARED_ALLOCATOR);
    }

    @SuppressWarnings("restricted")
    private static MemorySegment table(long address, int last) {
        return MemorySegment.ofAddress(address).reinterpret((last + 1) * ADDRESS.byteSize());
    }

    @SuppressWarnings("restricted")
    private static MethodHandle handle(FunctionDescriptor descriptor) {
        return Linker.nativeLinker().downcallHandle(descriptor);
    }

    /** Returns a block of that size. */
    long alloc(long byteSize) {
        final long address;
        try {
            address = (long) ALLOC_CALL.invokeExact(alloc, struct, byteSize);
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
        if (address == 0) {
            throw new IllegalStateException("no block of " + byteSize + " bytes");
        }
        return address;
    }

    /** Frees a block. */
    void free(long address) {
        try {
            FREE_CALL.invokeExact(free, struct, address);
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }
}
