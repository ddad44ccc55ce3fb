package allocator.cpu.reference;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** {@link LinuxCalls} of the C library. Not safe for use by several threads: there is one {@code errno}. */
@SuppressWarnings("restricted") // the module is named on --enable-native-access
final class NativeLinuxCalls implements LinuxCalls {
    private static final Linker LINKER = Linker.nativeLinker();
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
    private static final int CLOEXEC_NONBLOCK = 0x80800;

    private static final Pattern VERSION = Pattern.compile("(\\d{1,6})\\.(\\d{1,6})");

    private static final MethodHandle GETPAGESIZE =
            LINKER.downcallHandle(LINKER.defaultLookup().findOrThrow("getpagesize"), FunctionDescriptor.of(INT));

    /** {@code null} where the C library is older than the call. */
    private static final @Nullable MethodHandle MEMFD_CREATE =
            LINKER.defaultLookup().find("memfd_create").isEmpty()
                    ? null
                    : downcall("memfd_create", FunctionDescriptor.of(INT, ValueLayout.ADDRESS, INT));

    private static final MethodHandle OPEN = downcall("open", FunctionDescriptor.of(INT, ValueLayout.ADDRESS, INT), 2);
    private static final MethodHandle FCNTL = downcall("fcntl", FunctionDescriptor.of(INT, INT, INT, INT), 2);
    private static final MethodHandle FTRUNCATE = downcall("ftruncate", FunctionDescriptor.of(INT, INT, LONG));
    private static final MethodHandle WRITE = downcall("write", FunctionDescriptor.of(LONG, INT, LONG, LONG));
    private static final MethodHandle FALLOCATE =
            downcall("fallocate", FunctionDescriptor.of(INT, INT, INT, LONG, LONG));
    private static final MethodHandle MMAP =
            downcall("mmap", FunctionDescriptor.of(LONG, LONG, LONG, INT, INT, INT, LONG));
    /** {@code null} where the system cannot do what it is for. */
    private static final @Nullable MethodHandle MREMAP = isFrom(5, 13, System.getProperty("os.version"))
            ? downcall("mremap", FunctionDescriptor.of(LONG, LONG, LONG, LONG, INT, LONG), 4)
            : null;

    private static final MethodHandle MUNMAP = downcall("munmap", FunctionDescriptor.of(INT, LONG, LONG));
    private static final MethodHandle CLOSE = downcall("close", FunctionDescriptor.of(INT, INT));

    private static final MemorySegment NAME = Arena.global().allocateFrom("java.allocator");

    private final MemorySegment state = Arena.ofAuto().allocate(Linker.Option.captureStateLayout());
    private final long errnoOffset =
            Linker.Option.captureStateLayout().byteOffset(MemoryLayout.PathElement.groupElement("errno"));

    private static MethodHandle downcall(String function, FunctionDescriptor type) {
        return LINKER.downcallHandle(
                LINKER.defaultLookup().findOrThrow(function), type, Linker.Option.captureCallState("errno"));
    }

    private static MethodHandle downcall(String function, FunctionDescriptor type, int firstVariadic) {
        return LINKER.downcallHandle(
                LINKER.defaultLookup().findOrThrow(function),
                type,
                Linker.Option.captureCallState("errno"),
                Linker.Option.firstVariadicArg(firstVariadic));
    }

    /**
     * Returns whether a release of Linux, such as {@code 6.1.0-18-amd64}, is at least a version. One of another form is
     * not.
     */
    static boolean isFrom(int major, int minor, String release) {
        final Matcher version = VERSION.matcher(release);
        if (!version.lookingAt()) {
            return false;
        }
        final int found = Integer.parseInt(version.group(1));
        return found > major || (found == major && Integer.parseInt(version.group(2)) >= minor);
    }

    /** A call of the C library, which throws nothing. */
    private interface Call {
        long invoke() throws Throwable;
    }

    private long result(Call call) {
        try {
            final long returned = call.invoke();
            return returned == -1 ? -state.get(INT, errnoOffset) : returned;
        } catch (Throwable e) {
            throw HostHeap.unexpected(e);
        }
    }

    @Override
    public long getpagesize() {
        return result(() -> (int) GETPAGESIZE.invokeExact());
    }

    @Override
    public long memfdCreate(int flags) {
        return MEMFD_CREATE == null ? -ENOSYS : result(() -> (int) MEMFD_CREATE.invokeExact(state, NAME, flags));
    }

    @Override
    public long open(String path) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment text = arena.allocateFrom(path);
            return result(() -> (int) OPEN.invokeExact(state, text, CLOEXEC_NONBLOCK));
        }
    }

    @Override
    public long fcntl(int file, int command, int argument) {
        return result(() -> (int) FCNTL.invokeExact(state, file, command, argument));
    }

    @Override
    public long ftruncate(int file, long byteSize) {
        return result(() -> (int) FTRUNCATE.invokeExact(state, file, byteSize));
    }

    @Override
    public long write(int file, long address, long byteSize) {
        return result(() -> (long) WRITE.invokeExact(state, file, address, byteSize));
    }

    @Override
    public long fallocate(int file, int mode, long offset, long byteSize) {
        return result(() -> (int) FALLOCATE.invokeExact(state, file, mode, offset, byteSize));
    }

    @Override
    public long mmap(long address, long byteSize, int protection, int flags, int file, long offset) {
        return result(() -> (long) MMAP.invokeExact(state, address, byteSize, protection, flags, file, offset));
    }

    @Override
    public long mremap(long address, long byteSize, int flags, long newAddress) {
        return MREMAP == null
                ? -ENOSYS
                : result(() -> (long) MREMAP.invokeExact(state, address, byteSize, byteSize, flags, newAddress));
    }

    @Override
    public long munmap(long address, long byteSize) {
        return result(() -> (int) MUNMAP.invokeExact(state, address, byteSize));
    }

    @Override
    public long close(int file) {
        return result(() -> (int) CLOSE.invokeExact(state, file));
    }
}
