package allocator.cpu.reference;

import allocator.provider.support.platform.CLibrary;
import allocator.provider.support.platform.Platform;
import allocator.spi.DeviceException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import org.jspecify.annotations.Nullable;

/**
 * Memory of the host, by address: small blocks from the C library's {@code aligned_alloc} and {@code free}, large ones
 * mapped, where the platform is known to have {@code mmap}. The C library keeps what it is given back, often up to 64
 * MiB of it; of what is unmapped nothing stays resident.
 *
 * <p>The class is initialized, and the library looked up, when the first allocator is created, and not before (F-01). A
 * {@link java.lang.foreign.Arena} for each block would be simpler, but costs microseconds and zeroes the memory.
 */
@SuppressWarnings("restricted") // the module is named on --enable-native-access
final class HostHeap {
    private static final Linker LINKER = Linker.nativeLinker();

    private static final CLibrary LIBRARY = CLibrary.of(Platform.current());

    private static final MethodHandle ALIGNED_ALLOC = LIBRARY.alignmentFirst(downcall(
            LIBRARY.alignedAlloc(),
            FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG)));

    private static final MethodHandle FREE = downcall(LIBRARY.free(), FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG));

    /** From this size on blocks are mapped. A page is smaller, and a multiple of every alignment asked for here. */
    static final long MAPPED_FROM = 1 << 17;

    private static final int READ_AND_WRITE = 3;
    private static final long FAILED = -1;

    /** Flags of mmap; {@code 0} where they are not known: all blocks are small there. */
    private static final int PRIVATE_AND_ANONYMOUS = LIBRARY.privateAnonymous();

    private static final @Nullable MethodHandle MMAP = PRIVATE_AND_ANONYMOUS == 0
            ? null
            : downcall(
                    "mmap",
                    FunctionDescriptor.of(
                            ValueLayout.JAVA_LONG,
                            ValueLayout.JAVA_LONG,
                            ValueLayout.JAVA_LONG,
                            ValueLayout.JAVA_INT,
                            ValueLayout.JAVA_INT,
                            ValueLayout.JAVA_INT,
                            ValueLayout.JAVA_LONG));

    private static final @Nullable MethodHandle MUNMAP = PRIVATE_AND_ANONYMOUS == 0
            ? null
            : downcall(
                    "munmap",
                    FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));

    private HostHeap() {}

    private static MethodHandle downcall(String function, FunctionDescriptor type) {
        return LINKER.downcallHandle(LINKER.defaultLookup().findOrThrow(function), type);
    }

    /**
     * Makes each call once: what the JDK builds at the first one, it could never build again where the Java heap or the
     * stack has ended.
     */
    static void prepare() {
        free(allocate(Long.BYTES, Long.BYTES), Long.BYTES);
        free(allocate(MAPPED_FROM, MAPPED_FROM), MAPPED_FROM);
    }

    /** The address of {@code byteSize} bytes, a multiple of the alignment; {@code 0} if there is no memory. */
    static long allocate(long byteAlignment, long byteSize) {
        try {
            if (MMAP == null || byteSize < MAPPED_FROM) {
                return (long) ALIGNED_ALLOC.invokeExact(byteAlignment, byteSize);
            }
            final long address = (long) MMAP.invokeExact(0L, byteSize, READ_AND_WRITE, PRIVATE_AND_ANONYMOUS, -1, 0L);
            return address == FAILED ? 0 : address;
        } catch (RuntimeException | Error e) {
            throw e; // the Java heap or the stack has ended before the call
        } catch (Throwable e) {
            throw new AssertionError("a C function throws nothing", e);
        }
    }

    /**
     * Gives back what {@link #allocate} returned for {@code byteSize} bytes.
     *
     * @throws DeviceException if the system does not unmap it, as where a process has too many mappings to divide one
     */
    static void free(long address, long byteSize) {
        try {
            if (MUNMAP == null || byteSize < MAPPED_FROM) {
                FREE.invokeExact(address);
            } else {
                requireUnmapped((int) MUNMAP.invokeExact(address, byteSize), address, byteSize);
            }
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError("a C function throws nothing", e);
        }
    }

    private static void requireUnmapped(int result, long address, long byteSize) {
        if (result != 0) {
            throw new DeviceException(
                    "the system does not unmap " + byteSize + " bytes at 0x" + Long.toHexString(address), null);
        }
    }

    /** The bytes at an address, valid as long as the memory is. */
    static MemorySegment segment(long address, long byteSize) {
        return MemorySegment.ofAddress(address).reinterpret(byteSize);
    }
}
