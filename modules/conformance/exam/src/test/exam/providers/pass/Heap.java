package exam.pass;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** The heap of the C library. Loaded by the first allocator, not by the factory. */
final class Heap {
    private static final MethodHandle ALLOCATE;
    private static final MethodHandle FREE;

    static {
        final Linker linker = Linker.nativeLinker();
        ALLOCATE = linker.downcallHandle(
                linker.defaultLookup().find("aligned_alloc").orElseThrow(),
                FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));
        FREE = linker.downcallHandle(
                linker.defaultLookup().find("free").orElseThrow(), FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG));
    }

    private Heap() {}

    /** Returns the address of new memory at a multiple of the alignment, 0 if there is none. */
    static long allocate(long byteAlignment, long byteSize) {
        try {
            return (long) ALLOCATE.invokeExact(byteAlignment, byteSize);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    /** Takes memory back. */
    static void free(long address) {
        try {
            FREE.invokeExact(address);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    /** Links everything while there is heap for it. */
    static void prepare(long byteAlignment) {
        free(allocate(byteAlignment, byteAlignment));
    }

    /** Returns memory as a segment. */
    static MemorySegment segment(long address, long byteSize) {
        return MemorySegment.ofAddress(address).reinterpret(byteSize);
    }
}
