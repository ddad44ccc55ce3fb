package allocator.bench.soak;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The C library's {@code malloc}, where it is glibc's.
 *
 * <p>By itself it keeps much of what is freed. Each free of a block of up to 32 MiB that it had mapped teaches it to
 * keep such blocks, and twice as much at the end of each of its arenas; there are up to eight arenas for each
 * processor, and threads that start get them in turn. So a process that frees everything grows until each arena has
 * been at its largest. {@code malloc_trim} does not change that: it leaves the ends of all arenas but the first.
 */
final class CLibrary {
    private static final StructLayout MALLINFO2 = MemoryLayout.structLayout(
            JAVA_LONG.withName("arena"),
            JAVA_LONG.withName("ordblks"),
            JAVA_LONG.withName("smblks"),
            JAVA_LONG.withName("hblks"),
            JAVA_LONG.withName("hblkhd"),
            JAVA_LONG.withName("usmblks"),
            JAVA_LONG.withName("fsmblks"),
            JAVA_LONG.withName("uordblks"),
            JAVA_LONG.withName("fordblks"),
            JAVA_LONG.withName("keepcost"));

    private static final @Nullable MethodHandle STATISTICS = find("mallinfo2", FunctionDescriptor.of(MALLINFO2));
    private static final @Nullable MethodHandle TRIM = find("malloc_trim", FunctionDescriptor.of(JAVA_INT, JAVA_LONG));

    private static final @Nullable MethodHandle OPTION =
            find("mallopt", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));

    // Parameters of mallopt.
    private static final int TRIM_THRESHOLD = -1;
    private static final int MMAP_THRESHOLD = -3;

    /** What both are before {@code malloc} changes them. */
    private static final int INITIAL_THRESHOLD = 128 << 10;

    private CLibrary() {}

    /**
     * What {@code malloc} has, of all its arenas.
     *
     * @param inUseBytes in blocks that are not freed
     * @param freeBytes in freed memory that is kept, resident or not
     */
    record Blocks(long inUseBytes, long freeBytes) {}

    /** Makes {@code malloc} give larger blocks back when they are freed, and not learn otherwise. */
    static void keepLittle() {
        if (STATISTICS == null || OPTION == null) {
            return; // another C library may give the numbers another meaning
        }
        try {
            int set = (int) OPTION.invokeExact(MMAP_THRESHOLD, INITIAL_THRESHOLD);
            set &= (int) OPTION.invokeExact(TRIM_THRESHOLD, INITIAL_THRESHOLD);
            if (set == 0) {
                throw new IllegalStateException("mallopt takes no thresholds");
            }
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    @SuppressWarnings("restricted")
    private static @Nullable MethodHandle find(String name, FunctionDescriptor descriptor) {
        final Linker linker = Linker.nativeLinker();
        return linker.defaultLookup()
                .find(name)
                .map(function -> linker.downcallHandle(function, descriptor))
                .orElse(null);
    }

    /** Returns the figures of {@code malloc}; empty unless it is glibc's, of version 2.33 or later. */
    static Optional<Blocks> blocks() {
        if (STATISTICS == null) {
            return Optional.empty();
        }
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment figures = (MemorySegment) STATISTICS.invokeExact((SegmentAllocator) scratch);
            return Optional.of(
                    new Blocks(figure(figures, "uordblks") + figure(figures, "hblkhd"), figure(figures, "fordblks")));
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    private static long figure(MemorySegment figures, String name) {
        return figures.get(JAVA_LONG, MALLINFO2.byteOffset(MemoryLayout.PathElement.groupElement(name)));
    }

    /** Gives the system back the free pages between blocks; does nothing unless {@code malloc} is glibc's. */
    static void trim() {
        if (TRIM == null) {
            return;
        }
        try {
            final int ignored = (int) TRIM.invokeExact(0L);
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }
}
