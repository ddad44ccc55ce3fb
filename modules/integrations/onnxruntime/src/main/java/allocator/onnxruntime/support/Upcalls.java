package allocator.onnxruntime.support;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Arrays;

/**
 * Functions for native code that call static methods. Parameters and results are {@code long}s; of a narrower C type
 * the lower bytes count.
 */
public final class Upcalls {
    private Upcalls() {}

    /**
     * Makes a function that returns a {@code long}, which is never freed. The method must not throw.
     *
     * @param lookup of the class that has the method
     * @param name the method's name
     * @param parameters how many {@code long}s it takes
     */
    public static MemorySegment stub(MethodHandles.Lookup lookup, String name, int parameters) {
        final Class<?>[] types = new Class<?>[parameters];
        Arrays.fill(types, long.class);
        return stub(lookup, name, long.class, types);
    }

    /**
     * Makes a function, which is never freed. The method must not throw: the JVM would end the process.
     *
     * @param lookup of the class that has the method
     * @param name the method's name
     * @param result {@code long} or {@code void}
     * @param parameters {@code long}s
     */
    @SuppressWarnings("restricted")
    public static MemorySegment stub(
            MethodHandles.Lookup lookup, String name, Class<?> result, Class<?>... parameters) {
        final MemoryLayout[] longs = new MemoryLayout[parameters.length];
        Arrays.fill(longs, JAVA_LONG);
        final FunctionDescriptor descriptor =
                result == void.class ? FunctionDescriptor.ofVoid(longs) : FunctionDescriptor.of(JAVA_LONG, longs);
        try {
            return Linker.nativeLinker()
                    .upcallStub(
                            lookup.findStatic(lookup.lookupClass(), name, MethodType.methodType(result, parameters)),
                            descriptor,
                            Arena.global());
        } catch (ReflectiveOperationException e) {
            throw new LinkageError(name, e);
        }
    }
}
