package allocator.onnxruntime;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import allocator.onnxruntime.support.OrtAllocatorLayout;
import allocator.onnxruntime.support.OrtApi;
import allocator.onnxruntime.support.OrtVersion;
import allocator.onnxruntime.support.ThrowingThunk;
import allocator.onnxruntime.support.Upcalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The native side of exported allocators: the {@code OrtAllocator} structs that ONNX Runtime holds, and the functions
 * that they point to.
 *
 * <p>Both are never freed, so that a late call of ONNX Runtime, from any thread, never reaches freed memory. The
 * functions are the same for all structs; behind the members that ONNX Runtime knows, a struct has a number, which is
 * the index of its {@link ExportedAllocator} in a table, a message and a memory info. The entry of a closed allocator
 * is empty: an allocation then fails, and a free is ignored.
 *
 * <p>No upcall throws: {@link Upcalls} catches everything, and returns 0. The methods that are called have reported the
 * failure before.
 */
@SuppressWarnings({"UnusedMethod", "UnusedVariable"}) // The methods that native code calls have no caller in Java.
final class ExportedStruct {
    /** Behind ONNX Runtime's members: the allocator's index in the table. */
    private static final int NUMBER = OrtAllocatorLayout.BYTE_SIZE;

    /** Behind the C string that explains a failed allocation: the {@code OrtMemoryInfo} of the memory. */
    private static final int MEMORY_INFO = ThrowingThunk.MESSAGE + Long.BYTES;

    private static final int BYTE_SIZE = MEMORY_INFO + Long.BYTES;

    /** All of the address space, to read a struct without making a segment for it. */
    private static final MemorySegment MEMORY = OrtApi.view(0, Long.MAX_VALUE);

    private static final Object LOCK = new Object();
    private static @Nullable ExportedAllocator[] table = new ExportedAllocator[16];
    private static int count;

    /** {@link #table} for readers; written after each change, which publishes the change. */
    private static volatile @Nullable ExportedAllocator[] published = table;

    private ExportedStruct() {}

    /** The functions, made on first use. */
    private static final class Functions {
        static final MemorySegment ALLOC = ThrowingThunk.around(upcall("alloc", long.class, long.class, long.class));
        static final MemorySegment RESERVE =
                ThrowingThunk.around(upcall("reserve", long.class, long.class, long.class));
        static final MemorySegment FREE = upcall("free", void.class, long.class, long.class);
        static final MemorySegment INFO = upcall("info", long.class, long.class);
        static final MemorySegment GET_STATS = upcall("stats", long.class, long.class, long.class);
        static final MemorySegment ALLOC_ON_STREAM =
                ThrowingThunk.around(upcall("allocOnStream", long.class, long.class, long.class, long.class));
        static final MemorySegment SHRINK = upcall("shrink", long.class, long.class);

        private static MemorySegment upcall(String name, Class<?> result, Class<?>... parameters) {
            return Upcalls.stub(MethodHandles.lookup().in(ExportedStruct.class), name, result, parameters);
        }
    }

    /**
     * Makes the struct of an allocator.
     *
     * @param apiVersion the version of ONNX Runtime's API, which decides what members the struct has
     * @param message what ONNX Runtime's exception says when an allocation fails
     * @param hasStreams whether memory is allocated on streams
     * @return the struct's address
     */
    static long create(ExportedAllocator allocator, int apiVersion, String message, boolean hasStreams) {
        final boolean hasShrink = apiVersion >= OrtVersion.SHRINK_API;
        final MemorySegment struct = Arena.global().allocate(BYTE_SIZE, Long.BYTES);
        struct.set(JAVA_INT, OrtAllocatorLayout.VERSION, hasShrink ? OrtVersion.SHRINK_API : OrtVersion.OLDEST_API);
        struct.set(ADDRESS, OrtAllocatorLayout.ALLOC, Functions.ALLOC);
        struct.set(ADDRESS, OrtAllocatorLayout.FREE, Functions.FREE);
        struct.set(ADDRESS, OrtAllocatorLayout.INFO, Functions.INFO);
        struct.set(ADDRESS, OrtAllocatorLayout.RESERVE, Functions.RESERVE);
        struct.set(ADDRESS, OrtAllocatorLayout.GET_STATS, Functions.GET_STATS);
        if (hasStreams) {
            struct.set(ADDRESS, OrtAllocatorLayout.ALLOC_ON_STREAM, Functions.ALLOC_ON_STREAM);
        }
        if (hasShrink) {
            struct.set(ADDRESS, OrtAllocatorLayout.SHRINK, Functions.SHRINK);
        }
        struct.set(JAVA_LONG, MEMORY_INFO, NativeEnvironment.get().memoryInfo(allocator.memory()));
        struct.set(ADDRESS, ThrowingThunk.MESSAGE, Arena.global().allocateFrom(message));
        struct.set(JAVA_LONG, NUMBER, add(allocator));
        return struct.address();
    }

    private static int add(ExportedAllocator allocator) {
        synchronized (LOCK) {
            if (count == table.length) {
                table = Arrays.copyOf(table, 2 * count);
            }
            table[count] = allocator;
            published = table;
            return count++;
        }
    }

    /** Clears the table entry of a struct. */
    static void retire(long struct) {
        synchronized (LOCK) {
            table[(int) MEMORY.get(JAVA_LONG, struct + NUMBER)] = null;
            published = table;
        }
    }

    private static @Nullable ExportedAllocator of(long struct) {
        return published[(int) MEMORY.get(JAVA_LONG, struct + NUMBER)];
    }

    private static long alloc(long struct, long byteSize) {
        final ExportedAllocator allocator = of(struct);
        return allocator == null ? 0 : allocator.alloc(byteSize);
    }

    private static long reserve(long struct, long byteSize) {
        final ExportedAllocator allocator = of(struct);
        return allocator == null ? 0 : allocator.reserve(byteSize);
    }

    private static long allocOnStream(long struct, long byteSize, long stream) {
        final ExportedAllocator allocator = of(struct);
        return allocator == null ? 0 : allocator.allocOnStream(byteSize, stream);
    }

    private static void free(long struct, long address) {
        final ExportedAllocator allocator = of(struct);
        if (allocator != null) {
            allocator.free(address);
        }
    }

    private static long info(long struct) {
        return MEMORY.get(JAVA_LONG, struct + MEMORY_INFO);
    }

    /** Fills {@code OrtKeyValuePairs**}, with null where the statistics fail, and returns the null status. */
    private static long stats(long struct, long out) {
        MEMORY.set(JAVA_LONG, out, 0L);
        final ExportedAllocator allocator = of(struct);
        if (allocator != null) {
            MEMORY.set(
                    JAVA_LONG,
                    out,
                    OnnxRuntimeLibrary.api().createPairs(allocator.stats().toMap()));
        }
        return 0;
    }

    private static long shrink(long struct) {
        final ExportedAllocator allocator = of(struct);
        if (allocator != null) {
            allocator.shrink();
        }
        return 0;
    }
}
