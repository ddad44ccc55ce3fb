package allocator.onnxruntime.support;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import allocator.onnxruntime.OnnxRuntimeException;
import allocator.provider.support.platform.OperatingSystem;
import allocator.provider.support.platform.Platform;
import allocator.provider.support.platform.Processor;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Optional;

/**
 * A native function of the form of {@code Alloc} that calls an upcall and, where that yields null, throws a C++
 * exception into its caller.
 *
 * <p>ONNX Runtime does not check what {@code OrtAllocator::Alloc} returns before it makes a tensor of it: null ends the
 * process. Its own allocators throw, and every function of its API turns exceptions into statuses. Java code cannot
 * throw one, since no exception may pass through the JVM's frames; but once the upcall has returned, those are gone. So
 * this function, some thirty bytes of machine code, does it then: it leaves its own frame and <em>jumps</em> to the C++
 * library's function that throws, so that to the unwinder the exception comes from ONNX Runtime's own call.
 *
 * <p>The exception is a {@code std::runtime_error}; its text is the C string that the struct points to at
 * {@link #MESSAGE}. Made for Linux on x86-64; elsewhere there is none.
 */
public final class ThrowingThunk {
    /** Where a struct has the C string, in bytes: behind ONNX Runtime's members and one number of ours. */
    public static final int MESSAGE = OrtAllocatorLayout.BYTE_SIZE + Long.BYTES;

    /** What an upcall returns for 0 bytes: null is a failure. */
    public static final long EMPTY = Arena.global().allocate(64, 64).address();

    private static final String RUNTIME = "libstdc++.so.6";
    private static final String THROW_RUNTIME_ERROR = "_ZSt21__throw_runtime_errorPKc";

    private static final int PAGE = 4096;
    private static final int PROT_READ = 1;
    private static final int PROT_WRITE = 2;
    private static final int PROT_EXEC = 4;
    private static final int MAP_PRIVATE_ANONYMOUS = 0x22;
    private static final long MAP_FAILED = -1;

    private ThrowingThunk() {}

    /** Returns whether thunks can be made on this system; otherwise failures cannot be returned to ONNX Runtime. */
    public static boolean isSupported() {
        return Holder.THROWER.isPresent();
    }

    /**
     * Checks that thunks can be made, for a part that does not work without.
     *
     * @param part the part, as a user knows it
     * @param instead what works without, as a sentence without a full stop
     * @throws UnsupportedOperationException if they cannot: the platform is another one, or the C++ library is missing
     */
    public static void requireSupported(Platform platform, String part, String instead) {
        if (!isMadeFor(platform)) {
            throw new UnsupportedOperationException(platform.lacks(part, "Linux on x86-64", instead));
        }
        if (!isSupported()) {
            throw new UnsupportedOperationException(
                    platform.lacks(part, "GNU's C++ library, " + RUNTIME + ", which is not found", instead));
        }
    }

    private static boolean isMadeFor(Platform platform) {
        return platform.is(OperatingSystem.LINUX, Processor.X86_64);
    }

    private static final class Holder {
        static final Optional<MemorySegment> THROWER = findThrower();
    }

    @SuppressWarnings("restricted")
    private static Optional<MemorySegment> findThrower() {
        if (!isMadeFor(Platform.current())) {
            return Optional.empty();
        }
        try {
            return SymbolLookup.libraryLookup(RUNTIME, Arena.global()).find(THROW_RUNTIME_ERROR);
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    /**
     * Makes a thunk, which is never freed.
     *
     * @param upcall the function to call, of the form of {@code Alloc}
     * @return the thunk; {@code upcall} itself where thunks are not supported
     */
    public static MemorySegment around(MemorySegment upcall) {
        return Holder.THROWER.map(thrower -> executable(code(upcall, thrower))).orElse(upcall);
    }

    /**
     * The function in x86-64 code, with the calling convention of System V: the struct is in {@code rdi} and the size
     * in {@code rsi}, the result in {@code rax}.
     */
    private static byte[] code(MemorySegment upcall, MemorySegment thrower) {
        return ByteBuffer.allocate(64)
                .order(ByteOrder.LITTLE_ENDIAN)
                .put(bytes(0x57)) // push rdi: keeps the struct, and aligns the stack for the call
                .put(bytes(0x48, 0xB8)) // mov rax, upcall
                .putLong(upcall.address())
                .put(bytes(0xFF, 0xD0)) // call rax
                .put(bytes(0x5F)) // pop rdi
                .put(bytes(0x48, 0x85, 0xC0)) // test rax, rax
                .put(bytes(0x74, 0x01)) // jz over the return
                .put(bytes(0xC3)) // ret
                .put(bytes(0x48, 0x8B, 0x7F, MESSAGE)) // mov rdi, [rdi + MESSAGE]
                .put(bytes(0x48, 0xB8)) // mov rax, thrower
                .putLong(thrower.address())
                .put(bytes(0xFF, 0xE0)) // jmp rax
                .array();
    }

    private static byte[] bytes(int... values) {
        final byte[] bytes = new byte[values.length];
        for (int i = 0; i < values.length; i++) {
            bytes[i] = (byte) values[i];
        }
        return bytes;
    }

    /** Puts code into a page that is writable first and executable then, never both. */
    @SuppressWarnings("restricted")
    private static MemorySegment executable(byte[] code) {
        final Linker linker = Linker.nativeLinker();
        final SymbolLookup library = linker.defaultLookup();
        final MethodHandle map = linker.downcallHandle(
                library.findOrThrow("mmap"),
                FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));
        final MethodHandle protect = linker.downcallHandle(
                library.findOrThrow("mprotect"), FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
        try {
            final long page =
                    (long) map.invokeExact(0L, (long) PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0L);
            if (page == MAP_FAILED) {
                throw new OnnxRuntimeException("the system gives no page for the code of a callback");
            }
            MemorySegment.copy(MemorySegment.ofArray(code), 0, OrtApi.view(page, PAGE), 0, code.length);
            if ((int) protect.invokeExact(page, (long) PAGE, PROT_READ | PROT_EXEC) != 0) {
                throw new OnnxRuntimeException("the system does not let the code of a callback be run");
            }
            return MemorySegment.ofAddress(page);
        } catch (OnnxRuntimeException e) {
            throw e;
        } catch (Throwable e) {
            throw new OnnxRuntimeException("the code of a callback cannot be made", OnnxRuntimeException.NO_CODE, e);
        }
    }
}
