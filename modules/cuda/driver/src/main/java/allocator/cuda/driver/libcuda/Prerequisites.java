package allocator.cuda.driver.libcuda;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.provider.support.internal.NativeAccess;
import allocator.provider.support.platform.OperatingSystem;
import allocator.provider.support.platform.Platform;
import allocator.provider.support.platform.Processor;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import jcuda.JCudaVersion;
import jcuda.LibUtils;
import jcuda.LibUtilsCuda;
import jcuda.driver.CUresult;
import org.jspecify.annotations.Nullable;

/**
 * What must hold before a class is initialized that binds the driver's functions: the platform, native access, a
 * library with every function used, a supported version, a driver that initializes, JCuda's own library. A class that
 * fails to initialize stays unusable while the process lives, and JCuda ends the process if its library lacks a
 * function. These checks bind nothing and can be repeated.
 */
public final class Prerequisites {
    /** Has every function that this module calls; {@code cuStreamGetId} came with it. */
    private static final int MIN_VERSION = 12_000;

    private Prerequisites() {}

    /** {@return the first prerequisite that is not met, one line with the reason; null if all are met} */
    public static @Nullable String firstUnmet() {
        return firstUnmet(Platform.current());
    }

    /** The platform comes first: on others the library has another name, or there is none. */
    static @Nullable String firstUnmet(Platform platform) {
        if (!platform.is(OperatingSystem.LINUX, Processor.X86_64)) {
            return platform.lacks(
                    "memory of CUDA devices",
                    "Linux on x86-64, the only platform for which module jcuda has natives",
                    "Use cpu-reference for memory of the host, or java.allocator.cuda.simulated in tests");
        }
        final List<String> disabled = Stream.of(CUresult.class, Prerequisites.class)
                .map(Class::getModule)
                .filter(module -> !module.isNativeAccessEnabled())
                .map(NativeAccess::nameOf)
                .toList();
        if (!disabled.isEmpty()) {
            return "native access is not enabled: start java with " + NativeAccess.flag(disabled);
        }
        final SymbolLookup library;
        try {
            library = library();
        } catch (IllegalArgumentException e) {
            return "no CUDA driver: " + LibCuda.LIBRARY + " not found";
        }
        if (library.find(CudaFunction.DRIVER_GET_VERSION.symbol()).isEmpty()) {
            return "no CUDA driver: " + LibCuda.LIBRARY + " is not a CUDA driver";
        }
        final int version = driverVersion(library);
        if (version < MIN_VERSION) {
            return "CUDA driver too old: it supports CUDA %s, required is %s"
                    .formatted(text(version), text(MIN_VERSION));
        }
        final List<String> missing = Arrays.stream(CudaFunction.values())
                .map(CudaFunction::symbol)
                .filter(symbol -> library.find(symbol).isEmpty())
                .toList();
        if (!missing.isEmpty()) {
            return "CUDA driver incomplete: " + LibCuda.LIBRARY + " lacks " + String.join(", ", missing);
        }
        final int result = init(library);
        if (result != CudaResult.SUCCESS) {
            return "cuInit failed with " + CudaResult.nameOf(result);
        }
        try {
            LibUtilsCuda.loadLibrary(LibUtils.createPlatformLibraryName("JCudaDriver-" + JCudaVersion.get()));
        } catch (UnsatisfiedLinkError e) {
            return "JCuda cannot be loaded: " + e.getMessage();
        }
        return null;
    }

    /** {@return the library's version, {@code 1000 * major + 10 * minor}; all prerequisites must be met} */
    public static int driverVersion() {
        return driverVersion(library());
    }

    @SuppressWarnings("restricted") // opening the driver is this module's purpose
    private static SymbolLookup library() {
        return SymbolLookup.libraryLookup(LibCuda.LIBRARY, Arena.global());
    }

    private static int driverVersion(SymbolLookup library) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment version = arena.allocate(ValueLayout.JAVA_INT);
            final int result = (int) function(library, CudaFunction.DRIVER_GET_VERSION, ValueLayout.ADDRESS)
                    .invokeExact(version);
            return result == CudaResult.SUCCESS ? version.get(ValueLayout.JAVA_INT, 0) : 0;
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    private static int init(SymbolLookup library) {
        try {
            return (int)
                    function(library, CudaFunction.INIT, ValueLayout.JAVA_INT).invokeExact(0);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    @SuppressWarnings("restricted") // calling the driver is this module's purpose
    private static MethodHandle function(SymbolLookup library, CudaFunction function, ValueLayout parameter) {
        return Linker.nativeLinker()
                .downcallHandle(
                        library.findOrThrow(function.symbol()), FunctionDescriptor.of(ValueLayout.JAVA_INT, parameter));
    }

    private static String text(int version) {
        return version / 1000 + "." + version % 1000 / 10;
    }

    private static IllegalStateException impossible(Throwable e) {
        return new IllegalStateException("a bound function declares no exceptions", e);
    }
}
