package allocator.bench.soak;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import org.jspecify.annotations.Nullable;

/** What glibc's {@code malloc} does besides allocating. */
final class CLibrary {
    private static final @Nullable MethodHandle TRIM = trimHandle();

    private CLibrary() {}

    @SuppressWarnings("restricted")
    private static @Nullable MethodHandle trimHandle() {
        final Linker linker = Linker.nativeLinker();
        return linker.defaultLookup()
                .find("malloc_trim")
                .map(function -> linker.downcallHandle(function, FunctionDescriptor.of(JAVA_INT, JAVA_LONG)))
                .orElse(null);
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
