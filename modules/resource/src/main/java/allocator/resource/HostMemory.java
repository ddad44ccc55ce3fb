package allocator.resource;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The module's only native access: memory of the C library, and segments over addresses. */
@SuppressWarnings("restricted") // the module is named on --enable-native-access
final class HostMemory {
    private static final MethodHandle ALIGNED_ALLOC = downcall(
            "aligned_alloc",
            FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));

    private static final MethodHandle FREE = downcall("free", FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG));

    private HostMemory() {}

    private static MethodHandle downcall(String function, FunctionDescriptor type) {
        final Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(linker.defaultLookup().findOrThrow(function), type);
    }

    /** The address of a multiple of {@code byteAlignment} bytes; {@code 0} if there is no memory. */
    static long allocate(long byteAlignment, long byteSize) {
        try {
            return (long) ALIGNED_ALLOC.invokeExact(byteAlignment, byteSize);
        } catch (Throwable e) {
            throw new AssertionError("a C function throws nothing", e);
        }
    }

    static void free(long address) {
        try {
            FREE.invokeExact(address);
        } catch (Throwable e) {
            throw new AssertionError("a C function throws nothing", e);
        }
    }

    /** The bytes at an address, valid as long as the memory is. */
    static MemorySegment segment(long address, long byteSize) {
        return MemorySegment.ofAddress(address).reinterpret(byteSize);
    }

    /** The bytes at an address, valid until {@code lifetime} ends, which then calls {@code cleanup}. */
    static MemorySegment segment(
            long address, long byteSize, Arena lifetime, @Nullable Consumer<MemorySegment> cleanup) {
        return MemorySegment.ofAddress(address).reinterpret(byteSize, lifetime, cleanup);
    }
}
