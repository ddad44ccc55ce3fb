package allocator.onnxruntime.support;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
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
     * Makes a function that returns a {@code long}, which is never freed.
     *
     * @param lookup of the class that has the method
     */
    public static MemorySegment stub(MethodHandles.Lookup lookup, String name, int parameters) {
        return stub(lookup, name, parameters, MethodHandles.constant(long.class, 0L));
    }

    /**
     * Makes a function that returns a {@code long}, which is never freed.
     *
     * @param lookup of the class that has the method
     * @param otherwise returns the result if the method throws, as for want of heap before it can catch anything
     */
    public static MemorySegment stub(MethodHandles.Lookup lookup, String name, int parameters, MethodHandle otherwise) {
        final Class<?>[] types = new Class<?>[parameters];
        Arrays.fill(types, long.class);
        return stub(lookup, name, otherwise, MethodType.methodType(long.class, types));
    }

    /**
     * Makes a function, which is never freed. If the method throws, it returns 0 or nothing.
     *
     * @param lookup of the class that has the method
     * @param result {@code long} or {@code void}
     */
    public static MemorySegment stub(
            MethodHandles.Lookup lookup, String name, Class<?> result, Class<?>... parameters) {
        return stub(lookup, name, MethodHandles.zero(result), MethodType.methodType(result, parameters));
    }

    /** The JVM would end the process if the function threw. */
    @SuppressWarnings("restricted")
    private static MemorySegment stub(
            MethodHandles.Lookup lookup, String name, MethodHandle otherwise, MethodType type) {
        final MemoryLayout[] longs = new MemoryLayout[type.parameterCount()];
        Arrays.fill(longs, JAVA_LONG);
        final FunctionDescriptor descriptor = type.returnType() == void.class
                ? FunctionDescriptor.ofVoid(longs)
                : FunctionDescriptor.of(JAVA_LONG, longs);
        try {
            final MethodHandle method = lookup.findStatic(lookup.lookupClass(), name, type);
            return Linker.nativeLinker()
                    .upcallStub(
                            MethodHandles.catchException(
                                    method,
                                    Throwable.class,
                                    MethodHandles.dropArguments(otherwise, 0, Throwable.class)),
                            descriptor,
                            Arena.global());
        } catch (ReflectiveOperationException e) {
            throw new LinkageError(name, e);
        }
    }
}
