package allocator.cuda.simulated.device;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import allocator.cuda.driver.CudaResult;
import allocator.provider.support.platform.CLibrary;
import allocator.provider.support.platform.Platform;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;

/** Page-aligned memory of this process, for pinned and managed memory; neither zeroed nor touched. */
@SuppressWarnings("restricted") // the C library's allocator returns memory without touching it
final class PageAlignedMemory {
    /** The least that a page of any host has, as pinned memory is aligned on all of them. */
    private static final long PAGE = 4096;

    private static final CLibrary LIBRARY = CLibrary.of(Platform.current());
    private static final MethodHandle ALIGNED_ALLOC = LIBRARY.alignmentFirst(
            bind(LIBRARY.alignedAlloc(), FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG)));
    private static final MethodHandle FREE = bind(LIBRARY.free(), FunctionDescriptor.ofVoid(JAVA_LONG));

    private PageAlignedMemory() {}

    private static MethodHandle bind(String name, FunctionDescriptor descriptor) {
        final Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(linker.defaultLookup().findOrThrow(name), descriptor);
    }

    static long allocate(long byteSize) {
        final long address;
        try {
            address = (long) ALIGNED_ALLOC.invokeExact(PAGE, Sizes.roundUp(byteSize, PAGE));
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
        if (address == 0) {
            throw new CallFailure(CudaResult.OUT_OF_MEMORY);
        }
        return address;
    }

    static void free(long address) {
        try {
            FREE.invokeExact(address);
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }
}
