package allocator.cpu.reference;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * Memory of the C library, by address: {@code aligned_alloc} and {@code free}.
 *
 * <p>The class is initialized, and the library looked up, when the first block is asked for, and not before (F-01).
 * A {@link java.lang.foreign.Arena} for each block would be simpler, but costs microseconds and zeroes the memory.
 */
@SuppressWarnings("restricted") // the module is named on --enable-native-access
final class HostMemory {
    private static final Linker LINKER = Linker.nativeLinker();

    private static final MethodHandle ALIGNED_ALLOC = downcall(
            "aligned_alloc",
            FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));

    private static final MethodHandle FREE = downcall("free", FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG));

    private HostMemory() {}

    private static MethodHandle downcall(String function, FunctionDescriptor type) {
        return LINKER.downcallHandle(LINKER.defaultLookup().findOrThrow(function), type);
    }

    /** The address of {@code byteSize} bytes, a multiple of the alignment; {@code 0} if there is no memory. */
    static long allocate(long byteAlignment, long byteSize) {
        try {
            return (long) ALIGNED_ALLOC.invokeExact(byteAlignment, byteSize);
        } catch (Throwable e) {
            throw new AssertionError("a C function throws nothing", e);
        }
    }

    /** Gives back what {@link #allocate} returned. */
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
}
