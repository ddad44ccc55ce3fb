package allocator.resource.base;

import allocator.provider.support.platform.CLibrary;
import allocator.provider.support.platform.Platform;
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
public final class NativeMemory {
    private static final CLibrary LIBRARY = CLibrary.of(Platform.current());

    private static final MethodHandle ALIGNED_ALLOC = LIBRARY.alignmentFirst(downcall(
            LIBRARY.alignedAlloc(),
            FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG)));

    private static final MethodHandle FREE = downcall(LIBRARY.free(), FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG));

    private NativeMemory() {}

    private static MethodHandle downcall(String function, FunctionDescriptor type) {
        final Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(linker.defaultLookup().findOrThrow(function), type);
    }

    /**
     * Makes each call once: what the JDK builds at the first one, it could never build again where the Java heap or the
     * stack has ended.
     */
    public static void prepare() {
        free(allocate(Long.BYTES, Long.BYTES));
    }

    /**
     * Allocates memory of the C library. Returns the address, {@code 0} if there is no memory.
     *
     * @param byteAlignment alignment in bytes, a power of two
     * @param byteSize size in bytes, a multiple of the alignment
     */
    public static long allocate(long byteAlignment, long byteSize) {
        try {
            return (long) ALIGNED_ALLOC.invokeExact(byteAlignment, byteSize);
        } catch (RuntimeException | Error e) {
            throw e; // before the function was called: the Java heap or the stack has ended
        } catch (Throwable e) {
            throw new AssertionError("a C function throws nothing", e);
        }
    }

    /**
     * Frees memory of the C library.
     *
     * @param address what {@link #allocate} returned
     */
    public static void free(long address) {
        try {
            FREE.invokeExact(address);
        } catch (RuntimeException | Error e) {
            throw e; // before the function was called: the Java heap or the stack has ended
        } catch (Throwable e) {
            throw new AssertionError("a C function throws nothing", e);
        }
    }

    /** {@return a segment over memory at an address} The caller must not use it after the memory is freed. */
    public static MemorySegment segment(long address, long byteSize) {
        return MemorySegment.ofAddress(address).reinterpret(byteSize);
    }

    /**
     * {@return a segment over memory at an address, valid until an arena is closed}
     *
     * @param cleanup called when the arena is closed, {@code null} for nothing
     */
    public static MemorySegment segment(
            long address, long byteSize, Arena lifetime, @Nullable Consumer<MemorySegment> cleanup) {
        return MemorySegment.ofAddress(address).reinterpret(byteSize, lifetime, cleanup);
    }
}
