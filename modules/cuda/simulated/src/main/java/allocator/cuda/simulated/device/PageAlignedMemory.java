package allocator.cuda.simulated.device;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import allocator.cuda.driver.CudaResult;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** Page-aligned memory of this process, for pinned and managed memory; neither zeroed nor touched. */
@SuppressWarnings("restricted") // the C library's allocator returns memory without touching it
final class PageAlignedMemory {
    private static final long PAGE = 4096;
    private static final MethodHandle POSIX_MEMALIGN =
            bind("posix_memalign", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle FREE = bind("free", FunctionDescriptor.ofVoid(JAVA_LONG));

    private PageAlignedMemory() {}

    private static MethodHandle bind(String name, FunctionDescriptor descriptor) {
        final Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(linker.defaultLookup().findOrThrow(name), descriptor);
    }

    static long allocate(long byteSize) {
        final int result;
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment address = arena.allocate(JAVA_LONG);
            result = (int) POSIX_MEMALIGN.invokeExact(address, PAGE, byteSize);
            if (result == 0) {
                return address.get(JAVA_LONG, 0);
            }
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
        throw new CallFailure(CudaResult.OUT_OF_MEMORY);
    }

    static void free(long address) {
        try {
            FREE.invokeExact(address);
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }
}
