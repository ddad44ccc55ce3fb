package allocator.bench.subject;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import allocator.spi.Allocator;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.SpiLevel;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;

/**
 * {@code malloc} and {@code free} of a native library, unchecked and uncounted: of the C library, unless the system
 * property {@value #LIBRARY} names the file of another. One per JVM, since only constant handles are compiled in.
 *
 * <p>Called as critical functions, which saves about half of what a downcall costs. A program should rather not do
 * that: they may block, and no thread can then reach a safepoint.
 */
public final class MallocAllocator implements Allocator {
    public static final String LIBRARY = "allocator.bench.library";

    private static final MemoryInfo INFO = new MemoryInfo(
            "Cpu", new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT), 16, AllocatorType.DEVICE);

    // Addresses as numbers, so that no segment is made for each block.
    private static final ValueLayout.OfLong POINTER = JAVA_LONG;
    private static final SymbolLookup LOOKUP = lookup();
    private static final MethodHandle MALLOC = handle("malloc", FunctionDescriptor.of(POINTER, JAVA_LONG));
    private static final MethodHandle FREE = handle("free", FunctionDescriptor.ofVoid(POINTER));

    @SuppressWarnings("restricted")
    private static SymbolLookup lookup() {
        final String file = System.getProperty(LIBRARY, "");
        return file.isEmpty()
                ? Linker.nativeLinker().defaultLookup()
                : SymbolLookup.libraryLookup(Path.of(file), Arena.global());
    }

    @SuppressWarnings("restricted")
    private static MethodHandle handle(String name, FunctionDescriptor descriptor) {
        // A library under its own name, if it has one: mi_malloc, tc_malloc.
        final MemorySegment function =
                LOOKUP.find("mi_" + name).or(() -> LOOKUP.find("tc_" + name)).orElseGet(() -> LOOKUP.findOrThrow(name));
        return Linker.nativeLinker().downcallHandle(function, descriptor, Linker.Option.critical(false));
    }

    @Override
    public long alloc(long byteSize) {
        final long address;
        try {
            address = (long) MALLOC.invokeExact(byteSize);
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
        if (address == 0) {
            throw new IllegalStateException("malloc has no " + byteSize + " bytes");
        }
        return address;
    }

    @Override
    public void free(long address) {
        try {
            FREE.invokeExact(address);
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public MemoryInfo info() {
        return INFO;
    }

    @Override
    public int spiLevel() {
        return SpiLevel.MINIMUM;
    }
}
