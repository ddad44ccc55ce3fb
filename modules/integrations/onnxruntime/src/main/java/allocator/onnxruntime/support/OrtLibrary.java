package allocator.onnxruntime.support;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import ai.onnxruntime.OrtEnvironment;
import allocator.onnxruntime.OnnxRuntimeException;
import java.io.File;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/** Loads the native library of ONNX Runtime, once, and reads the table of its functions. */
public final class OrtLibrary {
    private static final MethodHandle LONG_OF_0 = OrtApi.handle(JAVA_LONG);
    private static final MethodHandle LONG_OF_INT = OrtApi.handle(JAVA_LONG, JAVA_INT);

    private OrtLibrary() {}

    /** Loads the library once. */
    private static final class Holder {
        static final OrtApi API = load();
    }

    /**
     * Returns the functions of the library. Loads the library if necessary.
     *
     * @throws OnnxRuntimeException if the library cannot be loaded, or its version is not known
     */
    public static OrtApi api() {
        try {
            return Holder.API;
        } catch (ExceptionInInitializerError e) {
            final Throwable cause = e.getCause();
            if (cause instanceof OnnxRuntimeException known) {
                throw known;
            }
            throw new OnnxRuntimeException(
                    "ONNX Runtime cannot be loaded: " + cause, OnnxRuntimeException.NO_CODE, cause);
        } catch (NoClassDefFoundError e) {
            throw new OnnxRuntimeException(
                    "ONNX Runtime could not be loaded when it was first needed", OnnxRuntimeException.NO_CODE, e);
        }
    }

    private static OrtApi load() {
        try {
            // Its initializer loads the native library.
            OrtEnvironment.getAvailableProviders();
        } catch (LinkageError | RuntimeException e) {
            throw new OnnxRuntimeException(
                    "the Java binding of ONNX Runtime cannot load its library: " + e, OnnxRuntimeException.NO_CODE, e);
        }
        return load(entryPoint());
    }

    /** Returns {@code OrtGetApiBase} of the library that the Java binding has loaded. */
    @SuppressWarnings("restricted")
    private static MemorySegment entryPoint() {
        final String directory = System.getProperty("onnxruntime.native.path");
        final SymbolLookup library = directory == null
                ? SymbolLookup.loaderLookup()
                : SymbolLookup.libraryLookup(
                        new File(directory, System.mapLibraryName("onnxruntime")).toPath(), Arena.global());
        return library.find("OrtGetApiBase")
                .orElseThrow(() -> new OnnxRuntimeException(
                        "the library of ONNX Runtime was not loaded by this module's class loader; set"
                                + " onnxruntime.native.path to the folder that has it"));
    }

    /**
     * Reads the functions of a library: {@code OrtGetApiBase} returns {@code GetApi(version)} and
     * {@code GetVersionString}, and {@code GetApi} the table of functions.
     *
     * @param entryPoint its {@code OrtGetApiBase}
     * @throws OnnxRuntimeException if its version is not known, or it lacks something that belongs to its version
     */
    public static OrtApi load(MemorySegment entryPoint) {
        final long base = call(entryPoint);
        if (base == 0) {
            throw new OnnxRuntimeException("the library of ONNX Runtime has no API");
        }
        final MemorySegment baseTable = OrtApi.view(base, 2 * ADDRESS.byteSize());
        final OrtVersion version = OrtVersion.parse(OrtApi.text(call(baseTable.getAtIndex(ADDRESS, 1))));
        final long table = getApi(baseTable.getAtIndex(ADDRESS, 0), version.api());
        if (table == 0) {
            throw new OnnxRuntimeException("ONNX Runtime " + version.text() + " does not offer version " + version.api()
                    + " of its API, which belongs to it");
        }
        return new OrtApi(version, table);
    }

    private static long call(MemorySegment function) {
        try {
            return (long) LONG_OF_0.invokeExact(function);
        } catch (Throwable e) {
            throw OrtApi.unexpected(e);
        }
    }

    private static long getApi(MemorySegment function, int version) {
        try {
            return (long) LONG_OF_INT.invokeExact(function, version);
        } catch (Throwable e) {
            throw OrtApi.unexpected(e);
        }
    }
}
