package allocator.cpu.reference;

import allocator.provider.support.platform.CLibrary;
import allocator.provider.support.platform.Platform;
import allocator.spi.PagedReserves;
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

    /** Of Arm and PowerPC; other pages are smaller, and divide it. */
    private static final long LARGEST_PAGE = 1 << 16;

    /** From this size on blocks are mapped. A page is no larger, and a multiple of every alignment asked for here. */
    static final long MAPPED_FROM = PagedReserves.LEAST_BYTES;

    private static final @Nullable MappedBlocks MAPPED =
            LIBRARY.privateAnonymous() == 0 ? null : new MappedBlocks(ProcessMappings.PROCESS, new Calls());

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
        final long mapped = allocate(MAPPED_FROM, MAPPED_FROM);
        if (mapped != 0) {
            free(mapped, MAPPED_FROM);
        }
    }

    /** The address of {@code byteSize} bytes, a multiple of the alignment; {@code 0} if there is no memory. */
    static long allocate(long byteAlignment, long byteSize) {
        if (MAPPED != null && byteSize >= MAPPED_FROM) {
            return byteSize > Long.MAX_VALUE - LARGEST_PAGE ? 0 : MAPPED.allocate(wholePages(byteSize));
        }
        try {
            return (long) ALIGNED_ALLOC.invokeExact(byteAlignment, byteSize);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /** Says why {@link #allocate} returned no memory of a size, as far as is known. */
    static String shortage(long byteSize) {
        if (MAPPED == null || byteSize < MAPPED_FROM) {
            return LIBRARY.alignedAlloc() + " found no memory";
        }
        return ProcessMappings.PROCESS.haveRoomFor(1)
                ? "mmap found no memory or no addresses, which ulimit -v limits"
                : "it would have more than three quarters of a process's mappings: " + ProcessMappings.PROCESS.advice();
    }

    /** Gives back what {@link #allocate} returned for {@code byteSize} bytes. */
    static void free(long address, long byteSize) {
        if (MAPPED != null && byteSize >= MAPPED_FROM) {
            MAPPED.free(address, wholePages(byteSize));
            return;
        }
        try {
            FREE.invokeExact(address);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /** Returns a size as the system maps it, in units that are no smaller than a page of any system. */
    static long wholePages(long byteSize) {
        return (byteSize + LARGEST_PAGE - 1) & -LARGEST_PAGE;
    }

    static RuntimeException unexpected(Throwable e) {
        if (e instanceof RuntimeException runtime) {
            throw runtime;
        }
        if (e instanceof Error error) { // the Java heap or the stack has ended before the call
            throw error;
        }
        throw new AssertionError("a C function throws nothing", e);
    }

    /** The calls of Linux and macOS. */
    private static final class Calls implements MappedBlocks.Calls {
        private static final int READ_AND_WRITE = 3;
        private static final int DONTNEED = 4;
        private static final long FAILED = -1;

        private static final MethodHandle MMAP = downcall(
                "mmap",
                FunctionDescriptor.of(
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_INT,
                        ValueLayout.JAVA_INT,
                        ValueLayout.JAVA_INT,
                        ValueLayout.JAVA_LONG));
        private static final MethodHandle MUNMAP = downcall(
                "munmap", FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));
        private static final MethodHandle MADVISE = downcall(
                "madvise",
                FunctionDescriptor.of(
                        ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT));

        @Override
        public long map(long wish, long byteSize) {
            try {
                final long address =
                        (long) MMAP.invokeExact(wish, byteSize, READ_AND_WRITE, LIBRARY.privateAnonymous(), -1, 0L);
                return address == FAILED ? 0 : address;
            } catch (Throwable e) {
                throw unexpected(e);
            }
        }

        @Override
        public boolean unmap(long address, long byteSize) {
            try {
                return (int) MUNMAP.invokeExact(address, byteSize) == 0;
            } catch (Throwable e) {
                throw unexpected(e);
            }
        }

        @Override
        public void discard(long address, long byteSize) {
            try {
                final int ignored = (int) MADVISE.invokeExact(address, byteSize, DONTNEED);
            } catch (Throwable e) {
                throw unexpected(e);
            }
        }
    }

    /** The bytes at an address, valid as long as the memory is. */
    static MemorySegment segment(long address, long byteSize) {
        return MemorySegment.ofAddress(address).reinterpret(byteSize);
    }
}
