package exam.slab;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** Maps and unmaps memory of the host. The first allocator loads this class, never the factory. */
final class Pages {
    /** The kernel rounds every mapping up to a multiple of this. */
    static final long PAGE_BYTES = 4096;

    private static final int READ_WRITE = 3;
    private static final int PRIVATE_ANONYMOUS = 0x22;
    private static final MethodHandle MAP;
    private static final MethodHandle UNMAP;

    static {
        final Linker linker = Linker.nativeLinker();
        MAP = linker.downcallHandle(
                linker.defaultLookup().find("mmap").orElseThrow(),
                FunctionDescriptor.of(
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_INT,
                        ValueLayout.JAVA_INT,
                        ValueLayout.JAVA_INT,
                        ValueLayout.JAVA_LONG));
        UNMAP = linker.downcallHandle(
                linker.defaultLookup().find("munmap").orElseThrow(),
                FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));
    }

    private Pages() {}

    /** Links everything while there is heap for it. */
    static void prepare() {
        final long address = map(PAGE_BYTES);
        if (address != 0) {
            unmap(address, PAGE_BYTES);
        }
    }

    /** Returns the address of new memory, 0 if the host has none. */
    static long map(long byteSize) {
        try {
            final long address = (long) MAP.invokeExact(0L, byteSize, READ_WRITE, PRIVATE_ANONYMOUS, -1, 0L);
            return address == -1 ? 0 : address;
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    /** Returns memory to the host. */
    static void unmap(long address, long byteSize) {
        try {
            final int result = (int) UNMAP.invokeExact(address, byteSize);
            assert result == 0 : address;
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    /** Returns memory as a segment. */
    static MemorySegment segment(long address, long byteSize) {
        return MemorySegment.ofAddress(address).reinterpret(byteSize);
    }
}
