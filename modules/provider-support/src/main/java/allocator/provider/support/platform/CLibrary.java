package allocator.provider.support.platform;

import allocator.spi.UnsupportedMemoryException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/**
 * How the C library of a platform allocates aligned memory. A module binds the functions itself, as native access is
 * enabled for each module by its name.
 *
 * @param alignedAlloc the function that allocates, with two parameters of type {@code size_t}
 * @param isSizeFirst whether its first parameter is the size, and not the alignment
 * @param free the function that frees what the other one allocated
 * @param privateAnonymous the flags {@code MAP_PRIVATE | MAP_ANONYMOUS} of {@code mmap}; {@code 0} if the platform is
 *     not known to have {@code mmap}
 */
public record CLibrary(String alignedAlloc, boolean isSizeFirst, String free, int privateAnonymous) {
    private static final MethodType ALIGNED_ALLOC = MethodType.methodType(long.class, long.class, long.class);

    /**
     * Returns the C library of a platform.
     *
     * @throws UnsupportedMemoryException if its addresses do not have 64 bits
     */
    public static CLibrary of(Platform platform) {
        if (!platform.processor().has64Bits()) {
            throw new UnsupportedMemoryException(platform.lacks(
                    "memory of the host",
                    "a processor of 64 bits",
                    "Use a JVM of 64 bits, on a processor that has them"));
        }
        return switch (platform.system()) {
            case LINUX -> new CLibrary("aligned_alloc", false, "free", 0x22);
            case MACOS -> new CLibrary("aligned_alloc", false, "free", 0x1002);
            case WINDOWS -> new CLibrary("_aligned_malloc", true, "_aligned_free", 0);
            case OTHER -> new CLibrary("aligned_alloc", false, "free", 0);
        };
    }

    /**
     * Gives the allocating function the parameters of {@code aligned_alloc}.
     *
     * @param bound {@link #alignedAlloc}, as it is bound
     * @return a function of the alignment and the size, in this order
     */
    public MethodHandle alignmentFirst(MethodHandle bound) {
        return isSizeFirst ? MethodHandles.permuteArguments(bound, ALIGNED_ALLOC, 1, 0) : bound;
    }
}
