package allocator.onnxruntime.ep.host;

import allocator.onnxruntime.OnnxRuntimeException;
import allocator.onnxruntime.ep.abi.EpApi;
import allocator.onnxruntime.ep.abi.FailureSink;
import allocator.onnxruntime.ep.abi.Guard;
import allocator.onnxruntime.support.OrtApi;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What the two functions of every plug-in library call. The first one finds the providers of the library by the name
 * under which it is being registered.
 */
@SuppressWarnings({"UnusedMethod", "UnusedVariable"}) // The methods that native code calls have no caller in Java.
public final class LibraryEntry {
    /** What {@code CreateEpFactories} calls. */
    public static final MemorySegment CREATE = upcall("createFactories", 6);

    /** What {@code ReleaseEpFactory} calls. */
    public static final MemorySegment RELEASE = upcall("releaseFactory", 1);

    private static final Map<String, Library> REGISTERING = new ConcurrentHashMap<>();

    private LibraryEntry() {}

    private record Library(List<HostedFactory> factories, FailureSink failures) {}

    private static MemorySegment upcall(String name, int parameters) {
        return Guard.statusStub(MethodHandles.lookup(), name, parameters);
    }

    /**
     * Runs a registration.
     *
     * @param name the name of the registration
     * @param factories the providers
     * @param failures where failures go
     * @param registration makes ONNX Runtime load the library
     * @throws OnnxRuntimeException if a library is being registered under the name
     */
    public static void register(
            String name, List<HostedFactory> factories, FailureSink failures, Runnable registration) {
        if (REGISTERING.putIfAbsent(name, new Library(factories, failures)) != null) {
            throw new OnnxRuntimeException("a library is being registered as " + name + " by another thread");
        }
        try {
            registration.run();
        } finally {
            REGISTERING.remove(name);
        }
    }

    private static long createFactories(long name, long apiBase, long logger, long out, long max, long outCount) {
        FailureSink sink = (callback, cause) -> callback + ": " + cause;
        try {
            EpApi.set(outCount, 0);
            final String registration = OrtApi.text(name);
            final Library library = REGISTERING.get(registration);
            if (library == null) {
                throw new IllegalStateException(
                        "the library was made for another registration than " + registration + "; register it in Java");
            }
            sink = library.failures();
            if (library.factories().size() > max) {
                throw new IllegalStateException("ONNX Runtime takes at most " + max + " providers of a library, not "
                        + library.factories().size());
            }
            for (int i = 0; i < library.factories().size(); i++) {
                EpApi.set(
                        out + (long) i * Long.BYTES, library.factories().get(i).struct());
            }
            EpApi.set(outCount, library.factories().size());
            return 0;
        } catch (Throwable e) {
            return Guard.status(sink, "CreateEpFactories", e);
        }
    }

    private static long releaseFactory(long factory) {
        return FactoryStruct.release(factory);
    }
}
