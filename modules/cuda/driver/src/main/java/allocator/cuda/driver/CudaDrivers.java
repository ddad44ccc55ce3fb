package allocator.cuda.driver;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import jcuda.JCudaVersion;
import jcuda.LibUtils;
import jcuda.LibUtilsCuda;
import jcuda.driver.CUresult;
import org.jspecify.annotations.Nullable;

/** Finds this machine's CUDA driver. */
public final class CudaDrivers {
    /** Has every function that this module calls; {@code cuStreamGetId} came with it. */
    private static final int MIN_VERSION = 12_000;

    private static @Nullable CudaDriver driver;

    private CudaDrivers() {}

    /**
     * Answers whether this process can use CUDA, and with what.
     *
     * <p>May be called at any time and as often as wanted: a failed attempt leaves nothing behind and can succeed
     * later. Retains no context. The first success initializes the driver, which takes a moment.
     *
     * @return the driver, or why there is none
     */
    public static synchronized CudaAvailability probe() {
        if (driver == null) {
            final @Nullable String obstacle = findObstacle();
            if (obstacle != null) {
                return new CudaAvailability.Unavailable(obstacle);
            }
            // Only now may a class be touched that binds the driver's functions when it is initialized: failing there,
            // it would be unusable for the life of the process, and JCuda would end it.
            try {
                driver = new NativeCudaDriver(driverVersion(library()));
            } catch (CudaException e) {
                return new CudaAvailability.Unavailable(e.function().functionName() + " failed with " + e.resultName());
            }
        }
        return new CudaAvailability.Available(driver);
    }

    private static @Nullable String findObstacle() {
        final String disabled = modulesWithoutNativeAccess();
        if (!disabled.isEmpty()) {
            return "native access is not enabled: start java with --enable-native-access=" + disabled;
        }
        final SymbolLookup library;
        try {
            library = library();
        } catch (IllegalArgumentException e) {
            return "no CUDA driver: " + LibCuda.LIBRARY + " not found";
        }
        if (library.find(CudaFunction.DRIVER_GET_VERSION.symbol()).isEmpty()) {
            return "no CUDA driver: " + LibCuda.LIBRARY + " is something else";
        }
        final int version = driverVersion(library);
        if (version < MIN_VERSION) {
            return "CUDA driver too old: it supports CUDA %s, needed is %s".formatted(text(version), text(MIN_VERSION));
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

    /** The flag names modules; for code on the class path that is {@code ALL-UNNAMED}. */
    private static String modulesWithoutNativeAccess() {
        final List<String> names = new ArrayList<>();
        for (Class<?> type : List.of(CUresult.class, CudaDrivers.class)) {
            final Module module = type.getModule();
            final String name = module.isNamed() ? module.getName() : "ALL-UNNAMED";
            if (!module.isNativeAccessEnabled() && !names.contains(name)) {
                names.add(name);
            }
        }
        return String.join(",", names);
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
