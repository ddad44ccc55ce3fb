package allocator.bench;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import allocator.spi.Allocator;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.SpiLevel;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** The C library's {@code malloc} and {@code free}, unchecked and uncounted: a baseline, and what arenas grow from. */
final class MallocAllocator implements Allocator {
    private static final MemoryInfo INFO = new MemoryInfo(
            "Cpu", new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT), 16, AllocatorType.DEVICE);

    // Addresses as numbers, so that no segment is made for each block.
    private static final ValueLayout.OfLong POINTER = JAVA_LONG;
    private static final MethodHandle MALLOC = handle("malloc", FunctionDescriptor.of(POINTER, JAVA_LONG));
    private static final MethodHandle FREE = handle("free", FunctionDescriptor.ofVoid(POINTER));

    @SuppressWarnings("restricted")
    private static MethodHandle handle(String name, FunctionDescriptor descriptor) {
        final Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(linker.defaultLookup().findOrThrow(name), descriptor);
    }

    @Override
    public long alloc(long byteSize) {
        try {
            return (long) MALLOC.invokeExact(byteSize);
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
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
