package allocator.onnxruntime;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** The C library's {@code malloc}, to ask whether the system would give memory before code asks that cannot be refused. */
final class SystemMemory {
    private static final MethodHandle MALLOC = handle("malloc", FunctionDescriptor.of(ADDRESS, JAVA_LONG));
    private static final MethodHandle FREE = handle("free", FunctionDescriptor.ofVoid(ADDRESS));

    private SystemMemory() {}

    @SuppressWarnings("restricted")
    private static MethodHandle handle(String name, FunctionDescriptor descriptor) {
        final Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(linker.defaultLookup().findOrThrow(name), descriptor);
    }

    /** Whether {@code malloc} gives {@code byteSize} bytes now. They are freed at once. */
    static boolean canAllocate(long byteSize) {
        try {
            final MemorySegment block = (MemorySegment) MALLOC.invokeExact(byteSize);
            FREE.invokeExact(block);
            return block.address() != 0;
        } catch (Throwable e) {
            throw new IllegalStateException("malloc or free failed", e);
        }
    }
}
