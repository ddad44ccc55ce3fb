package allocator.onnxruntime.support;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalLong;
import java.util.stream.Stream;

/** The C library's {@code malloc}, and the memory of the process. */
public final class SystemMemory {
    private static final MethodHandle MALLOC = handle("malloc", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG));
    private static final MethodHandle FREE = handle("free", FunctionDescriptor.ofVoid(JAVA_LONG));

    private SystemMemory() {}

    @SuppressWarnings("restricted")
    private static MethodHandle handle(String name, FunctionDescriptor descriptor) {
        final Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(linker.defaultLookup().findOrThrow(name), descriptor);
    }

    /** Returns {@code byteSize} bytes, or 0 if the system has none. */
    public static long allocate(long byteSize) {
        try {
            return (long) MALLOC.invokeExact(byteSize);
        } catch (Throwable e) {
            throw OrtApi.unexpected(e);
        }
    }

    /** Frees what {@link #allocate} returned. */
    public static void free(long address) {
        try {
            FREE.invokeExact(address);
        } catch (Throwable e) {
            throw OrtApi.unexpected(e);
        }
    }

    /** Returns the resident bytes of this process; empty where the system has no {@code /proc}. */
    public static OptionalLong resident() {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/status"))) {
            return lines.filter(line -> line.startsWith("VmRSS:"))
                    .mapToLong(line -> 1024 * Long.parseLong(line.replaceAll("\\D", "")))
                    .findFirst();
        } catch (IOException | UncheckedIOException e) {
            return OptionalLong.empty();
        }
    }

    /** Returns whether the system can allocate {@code byteSize} bytes now. */
    public static boolean canAllocate(long byteSize) {
        final long block = allocate(byteSize);
        free(block);
        return block != 0;
    }
}
